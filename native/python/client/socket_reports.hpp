// Adds `at_once`, `arm` and `disarm` to a module: the short way of reports over the allocation server's socket.
#pragma once

#include <Python.h>

namespace ttmem {

bool add_socket_reports(PyObject* module);

}  // namespace ttmem
