#include "interpreter/own_words.hpp"

#include <errno.h>

#include <cstring>

#include "interpreter/kernel_reads.hpp"

namespace ttmem {
namespace {

// PyTypeObject and PyMemberDef are the same in all known versions.
constexpr size_t kBasicSize = 32, kMembers = 240;
constexpr int kMembersMost = 64;
struct Member {
    const char* name;
    int64_t type, offset, flags;
    const char* doc;
};

// Whether an attribute of this name is a struct's member at that offset.
bool is_member(const void* type, const char* name, uint16_t offset) noexcept {
    const char* members = nullptr;
    if (!KernelReads::read(beyond(type, kMembers), members)) return false;
    const size_t length = std::strlen(name) + 1;
    for (int i = 0; i < kMembersMost; ++i) {
        Member member{};
        char first[24] = {};
        if (!KernelReads::read(beyond(members, static_cast<uint64_t>(i) * sizeof member), member)) return false;
        if (member.name == nullptr || !KernelReads::read(member.name, first)) return false;
        if (std::memcmp(first, name, length) == 0) return member.offset == offset;
    }
    return false;
}

// Where instructions begin is the end of what all code objects have; before it lie a pointer and the first instruction that
// may be traced.
bool has_units_at_end(const Interpreter& interpreter, const PythonRow& row) noexcept {
    constexpr uint64_t kBefore = 16;
    uint64_t size = 0;
    if (!KernelReads::read(beyond(interpreter.code_type, kBasicSize), size)) return false;
    const bool has_version = row.version == PythonRow::kNone || row.version + kBefore < size;
    return row.units == size && row.first_traceable + kBefore == size && has_version;
}

// Until 3.10 frames are objects that name their members. The last instruction follows flags, and a pointer behind these.
bool has_frame_objects(const Interpreter& interpreter, const PythonRow& row) noexcept {
    constexpr uint16_t kBehindFlags = 12;
    return interpreter.frame_type != nullptr && is_member(interpreter.frame_type, "f_back", row.previous) &&
           is_member(interpreter.frame_type, "f_code", row.code) &&
           is_member(interpreter.frame_type, "f_trace_lines", static_cast<uint16_t>(row.instruction - kBehindFlags));
}

// A text that is no ASCII has its UTF-8 beside it: length and pointer, until 3.11 another length.
bool has_known_texts(const Interpreter& interpreter, const PythonRow& row) noexcept {
    constexpr uint64_t kPointer = 8;
    constexpr uint16_t kWithoutWide = 12;
    uint64_t size = 0;
    return KernelReads::read(beyond(interpreter.text_type, kBasicSize), size) && row.compact + kPointer == size &&
           row.ascii + (row.minor < kWithoutWide ? 3 : 2) * kPointer == row.compact;
}

}  // namespace

const char* check_row(const Interpreter& interpreter, const PythonRow& row) noexcept {
    uint64_t size = 0;
    if (!KernelReads::read(beyond(interpreter.code_type, kBasicSize), size))
        return errno == EPERM || errno == ENOSYS ? kNoKernelReads : "code objects have no type";
    const bool has_qualnames = row.lasti == 0;
    const void* code = interpreter.code_type;
    if (!is_member(code, "co_filename", row.file) ||
        !is_member(code, has_qualnames ? "co_qualname" : "co_name", row.name) ||
        !is_member(code, "co_firstlineno", row.first_line) || !is_member(code, "co_linetable", row.line_table))
        return "code objects are not as known";
    if (row.lasti != 0 ? !has_frame_objects(interpreter, row) : !has_units_at_end(interpreter, row))
        return "frames are not as known";
    return has_known_texts(interpreter, row) ? nullptr : "texts are not as known";
}

}  // namespace ttmem
