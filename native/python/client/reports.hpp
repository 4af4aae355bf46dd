// Adds the report_* builtins to a module, and reads numbers as they do.
#pragma once

#include <Python.h>

#include <cstdint>

namespace ttmem {

bool add_reports(PyObject* module);

bool read_big_word(PyObject* value, int overflow, uint64_t& word);

/// Most numbers are one or two digits inside Python; asking for those costs a third of the general way.
inline bool read_small_word(PyObject* value, uint64_t& word) {
    if (!PyLong_CheckExact(value)) return false;
#if PY_VERSION_HEX >= 0x030c0000
    const auto* number = reinterpret_cast<const PyLongObject*>(value);
    if (!PyUnstable_Long_IsCompact(number)) return false;
    word = static_cast<uint64_t>(PyUnstable_Long_CompactValue(number));
    return true;
#else
    const digit* digits = reinterpret_cast<const PyLongObject*>(value)->ob_digit;
    const Py_ssize_t count = Py_SIZE(value);
    word = count == 0 ? 0 : digits[0];
    if (count == 2) word |= static_cast<uint64_t>(digits[1]) << PyLong_SHIFT;
    return count >= 0 && count <= 2;
#endif
}

/// An integer as a 64-bit word. One beyond 64 bits becomes an impossible size, which the core cuts and counts. False,
/// with a Python error, only for what is no integer at all.
inline bool read_word(PyObject* value, uint64_t& word) {
    if (__builtin_expect(read_small_word(value, word), 1)) return true;
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (__builtin_expect(overflow != 0, 0)) return read_big_word(value, overflow, word);
    word = static_cast<uint64_t>(number);
    return number != -1 || PyErr_Occurred() == nullptr;
}

/// A size as a word. The core takes one with the sign bit for a negative number that was cast; Python knows better.
inline uint64_t size_from(PyObject* value, uint64_t word) {
    if (__builtin_expect(static_cast<int64_t>(word) >= 0, 1)) return word;
    return _PyLong_Sign(value) > 0 ? uint64_t{1} << 62 : word;
}

}  // namespace ttmem
