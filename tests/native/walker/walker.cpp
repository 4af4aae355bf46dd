// The walker of Python frames as a library of its own, for any Python to load: what it reads, and what it says of rows that
// belong to another version.
#include <cstdio>
#include <iterator>

#include "interpreter/frames.cpp"
#include "interpreter/own_words.cpp"

namespace {

ttmem::Interpreter the_interpreter;
ttmem::PythonRow the_row;

}  // namespace

extern "C" {

/// Null: frames are as the row of this Python says; else what was found.
const char* walker_begin() {
    if (!ttmem::find_interpreter(the_interpreter)) return "no interpreter";
    if (const char* fault = ttmem::row_of(the_interpreter, the_row)) return fault;
    if (const char* fault = ttmem::check_row(the_interpreter, the_row)) return fault;
    int count = 0;
    return ttmem::check_frames(the_interpreter, the_row, 8, count);
}

/// What the check says of the row of another minor version; empty: all is as it should be. Nothing is read where it finds no
/// frames.
const char* walker_judge(int minor) {
    for (const ttmem::PythonRow& row : ttmem::kPythonRows) {
        if (row.minor != minor) continue;
        int count = 0;
        const char* fault = ttmem::check_frames(the_interpreter, row, 8, count);
        return fault != nullptr ? fault : count == 0 ? "no frames" : "";
    }
    return "no such row";
}

/// The row with one offset moved by so many bytes, in use from now on if the check finds nothing; else what it says.
const char* walker_move(int field, int bytes) {
    ttmem::PythonRow row = the_row;
    uint16_t* const fields[] = {&row.thread_frame, &row.cframe_frame, &row.thread_id,  &row.previous,        &row.code,
                                &row.instruction,  &row.owner,        &row.units,      &row.first_traceable, &row.file,
                                &row.name,         &row.first_line,   &row.line_table, &row.version,         &row.ascii,
                                &row.compact};
    if (field >= static_cast<int>(std::size(fields))) return nullptr;
    if (*fields[field] == ttmem::PythonRow::kNone) return "not of this version";
    *fields[field] = static_cast<uint16_t>(*fields[field] + bytes);
    int count = 0;
    const char* fault = ttmem::check_row(the_interpreter, row);
    if (fault == nullptr) fault = ttmem::check_frames(the_interpreter, row, 8, count);
    if (fault != nullptr) return fault;
    if (count == 0) return "no frames";
    the_row = row;
    return "";
}

/// "file:line function" of each frame, a new line behind each; how many there are.
int walker_walk(char* text, size_t room) {
    ttmem::PythonFrame frames[256];
    const int count = ttmem::read_frames(the_interpreter, the_row, frames, 256);
    size_t at = 0;
    for (int i = 0; i < count; ++i) {
        char file[1024], name[512];
        const size_t file_length = ttmem::file_of(the_row, frames[i], file, sizeof file);
        const size_t name_length = ttmem::function_of(the_row, frames[i], name, sizeof name);
        const int line = the_interpreter.line_of(const_cast<char*>(frames[i].code), frames[i].instruction);
        at += static_cast<size_t>(std::snprintf(text + at, room - at, "%.*s:%d %.*s\n", static_cast<int>(file_length),
                                                file, line, static_cast<int>(name_length), name));
        if (at >= room) return -1;
    }
    text[at] = '\0';
    return count;
}

/// The hash of the frames alone, many times: for threads that walk while others run.
long walker_repeat(int times) {
    ttmem::PythonFrame frames[64];
    long sum = 0;
    for (int i = 0; i < times; ++i) sum += ttmem::read_frames(the_interpreter, the_row, frames, 64);
    return sum;
}
}
