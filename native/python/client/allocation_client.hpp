// Adds the calls of the older socket client, as builtins that report into the journal.
#pragma once

#include <Python.h>

namespace ttmem {

bool add_allocation_client(PyObject* module);

}  // namespace ttmem
