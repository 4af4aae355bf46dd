/* The row of offsets.def for the Python that this module is built for, compared with the real headers: anyone who builds a
 * wheel proves one row. Nothing here is called. */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>
#include <stdint.h>
#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030e0000
#include <internal/pycore_frame.h>
#endif
#if PY_VERSION_HEX >= 0x030d0000
#include <internal/pycore_runtime.h>
#endif

#define TTMEM_NONE 0xffff

/* As enumerators of each row: C has no other constants that a static assertion takes. */
#define TTMEM_PYTHON_ROW(minor, thread_frame, cframe_frame, thread_id, previous, code, instruction, owner, lasti, \
                         units, first_traceable, file, name, first_line, line_table, version, ascii, compact)     \
    enum {                                                                                                        \
        thread_frame_##minor = thread_frame,                                                                      \
        cframe_frame_##minor = cframe_frame,                                                                      \
        thread_id_##minor = thread_id,                                                                            \
        previous_##minor = previous,                                                                              \
        code_##minor = code,                                                                                      \
        instruction_##minor = instruction,                                                                        \
        owner_##minor = owner,                                                                                    \
        lasti_##minor = lasti,                                                                                    \
        units_##minor = units,                                                                                    \
        first_traceable_##minor = first_traceable,                                                                \
        file_##minor = file,                                                                                      \
        name_##minor = name,                                                                                      \
        first_line_##minor = first_line,                                                                          \
        line_table_##minor = line_table,                                                                          \
        version_##minor = version,                                                                                \
        ascii_##minor = ascii,                                                                                    \
        compact_##minor = compact                                                                                 \
    };
#include "interpreter/offsets.def"

#define JOINED(a, b) a##_##b
#define OF_MINOR(field, minor) JOINED(field, minor)
#define ROW(field) OF_MINOR(field, PY_MINOR_VERSION)
#define IS(field, what) _Static_assert(ROW(field) == (what), "offsets.def: " #field " is wrong for this Python")

#if PY_VERSION_HEX < 0x030e0000 && !defined(Py_GIL_DISABLED)

IS(thread_id, offsetof(PyThreadState, thread_id));
IS(file, offsetof(PyCodeObject, co_filename));
IS(first_line, offsetof(PyCodeObject, co_firstlineno));
IS(line_table, offsetof(PyCodeObject, co_linetable));
IS(ascii, sizeof(PyASCIIObject));
IS(compact, sizeof(PyCompactUnicodeObject));
_Static_assert(offsetof(PyObject, ob_type) == 8 && offsetof(PyVarObject, ob_size) == 16 &&
                   offsetof(PyASCIIObject, length) == 16 && offsetof(PyASCIIObject, hash) == 24 &&
                   offsetof(PyASCIIObject, state) == 32 && sizeof(_Py_CODEUNIT) == 2,
               "frames.cpp: what all versions have in common");

#if PY_VERSION_HEX < 0x030b0000
IS(thread_frame, offsetof(PyThreadState, frame));
IS(previous, offsetof(PyFrameObject, f_back));
IS(code, offsetof(PyFrameObject, f_code));
IS(instruction, offsetof(PyFrameObject, f_lasti));
IS(name, offsetof(PyCodeObject, co_name));
IS(lasti, 1);
#else
IS(previous, offsetof(_PyInterpreterFrame, previous));
IS(owner, offsetof(_PyInterpreterFrame, owner));
IS(name, offsetof(PyCodeObject, co_qualname));
IS(units, offsetof(PyCodeObject, co_code_adaptive));
IS(first_traceable, offsetof(PyCodeObject, _co_firsttraceable));
IS(lasti, 0);
_Static_assert(FRAME_OWNED_BY_GENERATOR == 1, "frames.cpp: owners of frames");
#if PY_VERSION_HEX < 0x030d0000
IS(thread_frame, offsetof(PyThreadState, cframe));
IS(cframe_frame, offsetof(_PyCFrame, current_frame));
IS(code, offsetof(_PyInterpreterFrame, f_code));
IS(instruction, offsetof(_PyInterpreterFrame, prev_instr));
#else
IS(thread_frame, offsetof(PyThreadState, current_frame));
IS(cframe_frame, TTMEM_NONE);
IS(code, offsetof(_PyInterpreterFrame, f_executable));
IS(instruction, offsetof(_PyInterpreterFrame, instr_ptr));
_Static_assert(offsetof(_Py_DebugOffsets, thread_state.current_frame) == 184 &&
                   offsetof(_Py_DebugOffsets, thread_state.thread_id) == 192 &&
                   offsetof(_Py_DebugOffsets, interpreter_frame.previous) == 232 &&
                   offsetof(_Py_DebugOffsets, interpreter_frame.executable) == 240 &&
                   offsetof(_Py_DebugOffsets, interpreter_frame.instr_ptr) == 248 &&
                   offsetof(_Py_DebugOffsets, interpreter_frame.owner) == 264 &&
                   offsetof(_Py_DebugOffsets, code_object.filename) == 280 &&
                   offsetof(_Py_DebugOffsets, code_object.qualname) == 296 &&
                   offsetof(_Py_DebugOffsets, code_object.linetable) == 304 &&
                   offsetof(_Py_DebugOffsets, code_object.firstlineno) == 312 &&
                   offsetof(_Py_DebugOffsets, code_object.co_code_adaptive) == 344 &&
                   offsetof(_Py_DebugOffsets, pyobject.ob_type) == 360,
               "frames.cpp: where 3.13 tells its own offsets");
#endif
#endif
#if PY_VERSION_HEX >= 0x030c0000
IS(version, offsetof(PyCodeObject, co_version));
_Static_assert(FRAME_OWNED_BY_CSTACK == 3, "frames.cpp: owners of frames");
#else
IS(version, TTMEM_NONE);
#endif

#endif
