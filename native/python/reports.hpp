// Adds the report_* builtins to a module, and reads numbers as they do.
#pragma once

#include <Python.h>

#include <cstdint>

namespace ttmem {

bool add_reports(PyObject* module);

bool read_big_word(PyObject* value, int overflow, uint64_t& word);

/// An integer as a 64-bit word. One beyond 64 bits becomes an impossible size, which the core cuts and counts. False,
/// with a Python error, only for what is no integer at all.
inline bool read_word(PyObject* value, uint64_t& word) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (__builtin_expect(overflow != 0, 0)) return read_big_word(value, overflow, word);
    word = static_cast<uint64_t>(number);
    return number != -1 || PyErr_Occurred() == nullptr;
}

}  // namespace ttmem
