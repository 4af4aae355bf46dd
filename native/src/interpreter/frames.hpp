// The Python frames of the calling thread, read where the interpreter keeps them, without its headers and without its lock.
//
// The stock runtime gives the interpreter's lock away before it allocates, and anyone who waits for the lock inside a report may
// wait for ever. While a thread is in a call out of Python nothing changes its frames, and they keep their code objects
// alive: so the thread itself may read them. Nothing here takes a reference, makes an object or runs Python code.
//
// Where frames lie is a row of offsets.def. Nothing is believed before it was seen: the first captures are read by the kernel
// (process_vm_readv on our own process, which answers with an error where a load would crash), and everything found there
// must be what the row says; before that the row is held against what the interpreter reports its own structs
// (own_words.hpp). If anything is not, no stack is ever read in this process, and why is kept.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ttmem {

constexpr const char* kNoKernelReads = "this kernel lets no process read its own memory (process_vm_readv)";

/// A row of offsets.def.
struct PythonRow {
    static constexpr uint16_t kNone = 0xffff;
    uint16_t minor;
    uint16_t thread_frame, cframe_frame, thread_id;
    uint16_t previous, code, instruction, owner, lasti;
    uint16_t units, first_traceable, file, name, first_line, line_table, version;
    uint16_t ascii, compact;
};

struct PythonFrame {
    const char* code;     // valid as long as the thread has not returned to Python
    uint64_t identity;    // of the code object; another one at the same address has another
    int32_t instruction;  // its offset in bytes
};

/// What of an interpreter is used, found by its exported names.
struct Interpreter {
    const char* (*version)();
    void* (*this_thread)();  // PyGILState_GetThisThreadState
    int (*is_initialized)();
    int (*is_finalizing)();
    int (*line_of)(void* code, int instruction);  // PyCode_Addr2Line
    const void *code_type, *text_type, *frame_type;
    const char* runtime;  // _PyRuntime, from 3.13 on
};

/// False: there is no CPython in this process (yet).
bool find_interpreter(Interpreter& interpreter) noexcept;

/// The row of an interpreter, or null and why there is none.
const char* row_of(const Interpreter& interpreter, PythonRow& row) noexcept;

/// Whether Python knows the calling thread, and is neither about to begin nor about to end.
bool is_thread_of(const Interpreter& interpreter) noexcept;

/// Reads up to `most` frames of the calling thread through the kernel and checks all that is said of them. Null: they are as
/// the row says, and `count` says how many there are; else what was not.
const char* check_frames(const Interpreter& interpreter, const PythonRow& row, int most, int& count) noexcept;

/// The frames of the calling thread, the innermost first, at most that many; only with a row that was checked. 0 on a thread
/// that Python does not know, and while the interpreter is not there or going away.
int read_frames(const Interpreter& interpreter, const PythonRow& row, PythonFrame* frames, int most) noexcept;

/// The same stack as a number: equal stacks have equal ones. Of each frame it has the code and where in it that is, so what
/// read_frames() passes over may make a difference. 0 where there are no frames.
uint64_t number_frames(const Interpreter& interpreter, const PythonRow& row, int most) noexcept;

/// The file or function of a frame as UTF-8, control characters as "?"; of a long one the end (file) or the beginning. Its length.
size_t file_of(const PythonRow& row, const PythonFrame& frame, char* text, size_t room) noexcept;
size_t function_of(const PythonRow& row, const PythonFrame& frame, char* text, size_t room) noexcept;

}  // namespace ttmem
