// Adds the report_* builtins to a module.
#pragma once

#include <Python.h>

namespace ttmem {

bool add_reports(PyObject* module);

}  // namespace ttmem
