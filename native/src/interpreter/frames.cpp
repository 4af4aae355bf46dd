#include "interpreter/frames.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include <cstdlib>
#include <cstring>

#include "interpreter/kernel_reads.hpp"

namespace ttmem {
namespace {

constexpr uint16_t kNone = PythonRow::kNone;
constexpr uint8_t kOfGenerator = 1, kOfCStack = 3;  // owners of frames
constexpr uint32_t kUnitBytes = 2;                  // of a _Py_CODEUNIT
constexpr uint64_t kTextMost = 1u << 20, kCodeMost = 1u << 26;
// PyObject and PyASCIIObject are the same in all known versions.
constexpr size_t kType = 8, kSize = 16, kTextLength = 16, kTextHash = 24, kTextState = 32;
constexpr uint32_t kKindShift = 2, kKindMask = 7, kCompactBit = 1u << 5, kAsciiBit = 1u << 6;
constexpr int kStepsMost = 1 << 16;  // frames that are passed over do not count as frames

#define TTMEM_NONE PythonRow::kNone
#define TTMEM_PYTHON_ROW(...) {__VA_ARGS__},
constexpr PythonRow kPythonRows[] = {
#include "interpreter/offsets.def"
};
#undef TTMEM_PYTHON_ROW
#undef TTMEM_NONE

// The other way to read this process's memory, beside asking the kernel.
struct Loads {
    template <typename T>
    [[gnu::always_inline]] static bool read(const void* from, T& to) noexcept {
        std::memcpy(&to, from, sizeof to);
        return true;
    }
};

[[gnu::always_inline]] inline uint64_t mix_code(uint64_t hash, uint64_t word) noexcept {
    return (hash ^ word) * 0x9e37'79b9'7f4a'7c15ull;
}

// Until 3.11 a code object has no number of its own. Then what it is called says it from another at its address; texts keep
// their hash once a process asked for it, as compilers do.
template <typename Memory>
[[gnu::always_inline]] inline bool identify(const PythonRow& row, const char* code, uint64_t& identity) noexcept {
    const auto address = reinterpret_cast<uintptr_t>(code);
    if (row.version != kNone) {
        uint32_t version = 0;
        if (!Memory::read(beyond(code, row.version), version)) return false;
        identity = mix_code(version, address);
        return true;
    }
    const char *file = nullptr, *name = nullptr, *lines = nullptr;
    uint64_t file_hash = 0, name_hash = 0;
    uint32_t first_line = 0;
    if (!Memory::read(beyond(code, row.file), file) || !Memory::read(beyond(code, row.name), name) ||
        !Memory::read(beyond(code, row.line_table), lines) || !Memory::read(beyond(code, row.first_line), first_line) ||
        !Memory::read(beyond(file, kTextHash), file_hash) || !Memory::read(beyond(name, kTextHash), name_hash))
        return false;
    identity = mix_code(mix_code(file_hash * 31 + name_hash, reinterpret_cast<uintptr_t>(lines)) + first_line, address);
    return true;
}

enum class Step { frame, passed_over, fault };

// What one frame says: its code, and the instruction it is at. Frames that have not begun, or are no function's, are passed
// over, as the interpreter's own _PyFrame_IsIncomplete does.
template <typename Memory>
[[gnu::always_inline]] inline Step look_at(const PythonRow& row, const char* frame, PythonFrame& to) noexcept {
    uint8_t owner = 0;
    if (row.owner != kNone && !Memory::read(beyond(frame, row.owner), owner)) return Step::fault;
    if (owner == kOfCStack) return Step::passed_over;
    if (owner > kOfCStack || !Memory::read(beyond(frame, row.code), to.code)) return Step::fault;
    if (row.lasti != 0) {
        int32_t lasti = 0;
        if (!Memory::read(beyond(frame, row.instruction), lasti)) return Step::fault;
        to.instruction = lasti * static_cast<int32_t>(kUnitBytes);
    } else {
        const char* instruction = nullptr;
        int32_t first_traceable = 0;
        if (!Memory::read(beyond(frame, row.instruction), instruction) ||
            !Memory::read(beyond(to.code, row.first_traceable), first_traceable))
            return Step::fault;
        const auto offset = static_cast<int64_t>(reinterpret_cast<uintptr_t>(instruction) -
                                                 reinterpret_cast<uintptr_t>(beyond(to.code, row.units)));
        if (owner != kOfGenerator && offset < int64_t{first_traceable} * kUnitBytes) return Step::passed_over;
        to.instruction = static_cast<int32_t>(offset);
    }
    return identify<Memory>(row, to.code, to.identity) ? Step::frame : Step::fault;
}

template <typename Memory>
[[gnu::always_inline]] inline bool innermost(const PythonRow& row, const char* thread, const char*& frame) noexcept {
    if (!Memory::read(beyond(thread, row.thread_frame), frame)) return false;
    if (row.cframe_frame == kNone || frame == nullptr) return true;
    return Memory::read(beyond(frame, row.cframe_frame), frame);
}

// The thread as Python knows it; null where there is nothing to read.
[[gnu::always_inline]] inline const char* thread_now(const Interpreter& interpreter) noexcept {
    if (interpreter.is_initialized() == 0 || interpreter.is_finalizing() != 0) return nullptr;
    return static_cast<const char*>(interpreter.this_thread());
}

const char* check_text(const Interpreter& interpreter, const PythonRow& row, const char* text) noexcept {
    const void* type = nullptr;
    uint64_t length = 0;
    uint32_t state = 0;
    if (!KernelReads::read(beyond(text, kType), type) || type != interpreter.text_type) return "a name is no text";
    if (!KernelReads::read(beyond(text, kTextLength), length) || !KernelReads::read(beyond(text, kTextState), state) ||
        length > kTextMost)
        return "a name has no length";
    const uint32_t kind = state >> kKindShift & kKindMask;
    if ((state & kCompactBit) == 0 || (kind != 1 && kind != 2 && kind != 4)) return "a name has no characters";
    char last = 0;
    const char* data = beyond(text, (state & kAsciiBit) != 0 ? row.ascii : row.compact);
    return KernelReads::read(beyond(data, length * kind), last) ? nullptr : "a name ends nowhere";
}

const char* check_code(const Interpreter& interpreter, const PythonRow& row, const PythonFrame& frame) noexcept {
    const void* type = nullptr;
    const char *file = nullptr, *name = nullptr;
    if (!KernelReads::read(beyond(frame.code, kType), type) || type != interpreter.code_type)
        return "a frame has no code";
    uint64_t units = kCodeMost;
    if (row.units != kNone && (!KernelReads::read(beyond(frame.code, kSize), units) || units > kCodeMost))
        return "code has no length";
    if (frame.instruction < -static_cast<int64_t>(kUnitBytes) ||
        static_cast<int64_t>(frame.instruction) >= static_cast<int64_t>(units * kUnitBytes))
        return "an instruction is not in its code";
    if (!KernelReads::read(beyond(frame.code, row.file), file) ||
        !KernelReads::read(beyond(frame.code, row.name), name))
        return "code has no name";
    const char* fault = check_text(interpreter, row, file);
    return fault != nullptr ? fault : check_text(interpreter, row, name);
}

// Nothing is behind this frame: then it must be one by which the interpreter was entered. Before 3.11 nothing says that.
bool is_outermost(const PythonRow& row, const char* frame) noexcept {
    constexpr uint16_t kOwnedByStack =
        12;  // from then on such a frame is the C stack's; before it is marked, beside its owner
    uint8_t mark = 0;
    if (row.owner == kNone) return true;
    const bool is_owned = row.minor >= kOwnedByStack;
    if (!KernelReads::read(beyond(frame, row.owner - (is_owned ? 0u : 1u)), mark)) return false;
    return mark == (is_owned ? kOfCStack : 1);
}

// The offsets that 3.13 says itself, as 64-bit words of a block that _PyRuntime begins with.
bool read_own_offsets(const char* runtime, PythonRow& row) noexcept {
    struct Own {
        char cookie[8];
        uint64_t version, free_threaded;
        uint64_t words[70];
    } own;
    if (runtime == nullptr || !KernelReads::read(runtime, own)) return false;
    if (std::memcmp(own.cookie, "xdebugpy", sizeof own.cookie) != 0 || own.version >> 16 != (0x0300u | row.minor) ||
        own.free_threaded != 0)
        return false;
    const auto word = [&own](size_t offset) noexcept { return own.words[offset / 8 - 3]; };
    const struct {
        uint16_t& to;
        size_t at;
    } told[] = {{row.thread_frame, 184}, {row.thread_id, 192},  {row.previous, 232}, {row.code, 240},
                {row.instruction, 248},  {row.owner, 264},      {row.file, 280},     {row.name, 296},
                {row.line_table, 304},   {row.first_line, 312}, {row.units, 344}};
    for (const auto& one : told) {
        if (word(one.at) >= kNone) return false;
        one.to = static_cast<uint16_t>(word(one.at));
    }
    return word(360) == kType;
}

}  // namespace

bool find_interpreter(Interpreter& interpreter) noexcept {
    const auto find = [](const char* name) noexcept { return dlsym(RTLD_DEFAULT, name); };
    const auto set = [&find]<typename F>(F*& to, const char* name) noexcept {
        to = reinterpret_cast<F*>(find(name));
        return to != nullptr;
    };
    interpreter.runtime = static_cast<const char*>(find("_PyRuntime"));
    interpreter.code_type = find("PyCode_Type");
    interpreter.text_type = find("PyUnicode_Type");
    interpreter.frame_type = find("PyFrame_Type");
    return set(interpreter.version, "Py_GetVersion") && set(interpreter.is_initialized, "Py_IsInitialized") &&
           (set(interpreter.is_finalizing, "Py_IsFinalizing") || set(interpreter.is_finalizing, "_Py_IsFinalizing")) &&
           set(interpreter.this_thread, "PyGILState_GetThisThreadState") &&
           set(interpreter.line_of, "PyCode_Addr2Line") && interpreter.code_type != nullptr &&
           interpreter.text_type != nullptr;
}

const char* row_of(const Interpreter& interpreter, PythonRow& row) noexcept {
    const char* version = interpreter.version();
    if (std::strstr(version, "PyPy") != nullptr) return "PyPy keeps its frames elsewhere";
    if (std::strstr(version, "free-threading") != nullptr) return "a free-threaded Python keeps its frames elsewhere";
    if (version[0] != '3' || version[1] != '.') return "this Python's frames are not known";
    const auto minor = std::strtoul(version + 2, nullptr, 10);
    for (const PythonRow& known : kPythonRows) {
        if (known.minor != minor) continue;
        row = known;
        constexpr uint16_t kSaysItself = 13;
        if (minor < kSaysItself || read_own_offsets(interpreter.runtime, row)) return nullptr;
        return "this Python does not say where its frames are";
    }
    return "this Python's frames are not known: 3.10 to 3.13 are";
}

bool is_thread_of(const Interpreter& interpreter) noexcept { return thread_now(interpreter) != nullptr; }

const char* check_frames(const Interpreter& interpreter, const PythonRow& row, int most, int& count) noexcept {
    count = 0;
    const char* thread = thread_now(interpreter);
    if (thread == nullptr) return nullptr;
    uint64_t id = 0;
    if (!KernelReads::read(beyond(thread, row.thread_id), id))
        return errno == EPERM || errno == ENOSYS ? kNoKernelReads : "a thread leads nowhere";
    if (id != pthread_self()) return "a thread has another number";
    const char* frame = nullptr;
    if (!innermost<KernelReads>(row, thread, frame)) return "a thread has no frame";
    for (int steps = 0; frame != nullptr && count < most && steps < kStepsMost; ++steps) {
        PythonFrame seen{};
        const Step step = look_at<KernelReads>(row, frame, seen);
        if (step == Step::fault) return "a frame leads nowhere";
        if (step == Step::frame) {
            if (const char* fault = check_code(interpreter, row, seen)) return fault;
            ++count;
        }
        const char* const last = frame;
        if (!KernelReads::read(beyond(frame, row.previous), frame)) return "a frame has none before it";
        if (frame == nullptr && !is_outermost(row, last)) return "the outermost frame is none";
    }
    return nullptr;
}

int read_frames(const Interpreter& interpreter, const PythonRow& row, PythonFrame* frames, int most) noexcept {
    const char* thread = thread_now(interpreter);
    const char* frame = nullptr;
    if (thread == nullptr || !innermost<Loads>(row, thread, frame)) return 0;
    int count = 0;
    for (int steps = 0; frame != nullptr && count < most && steps < kStepsMost; ++steps) {
        const Step step = look_at<Loads>(row, frame, frames[count]);
        if (__builtin_expect(step == Step::fault, 0)) break;
        count += step == Step::frame ? 1 : 0;
        Loads::read(frame + row.previous, frame);
    }
    // An interpreter that ends takes down the other threads' frames: what was read of them meanwhile may be anything.
    return __builtin_expect(interpreter.is_finalizing() != 0, 0) ? 0 : count;
}

namespace {

constexpr uint64_t kNumberStep = 0x9e37'79b9'7f4a'7c15ull, kNumberSpread = 0xc2b2'ae3d'27d4'eb4full;

// A frame at one instruction of one code object.
uint64_t number_of_frame(const PythonRow& row, const char* frame, const char* code) noexcept {
    uint64_t instruction = 0, identity = 0;
    if (row.lasti != 0) {
        int32_t lasti = 0;
        Loads::read(frame + row.instruction, lasti);
        instruction = static_cast<uint32_t>(lasti);
    } else {
        Loads::read(frame + row.instruction, instruction);
    }
    identify<Loads>(row, code, identity);
    return identity ^ instruction * kNumberSpread;
}

// From 3.12 on, where code has a version: the usual case, with its offsets in registers.
[[gnu::always_inline]] inline uint64_t add_versioned(const PythonRow& row, const char* frame, int most,
                                                     int& count) noexcept {
    const size_t previous = row.previous, code_at = row.code, instruction_at = row.instruction, owner_at = row.owner,
                 version_at = row.version;
    uint64_t number = 0;
    for (int steps = 0; frame != nullptr && count < most && steps < kStepsMost; ++steps) {
        const char *code = nullptr, *next = nullptr;
        uint64_t instruction = 0;
        uint32_t version = 0;
        const auto owner = static_cast<uint8_t>(frame[owner_at]);
        Loads::read(frame + previous, next);
        if (__builtin_expect(owner > kOfCStack, 0)) break;
        if (__builtin_expect(owner != kOfCStack, 1)) {
            Loads::read(frame + code_at, code);
            Loads::read(frame + instruction_at, instruction);
            Loads::read(code + version_at, version);
            number = number * kNumberStep + ((instruction ^ uint64_t{version} << 40) * kNumberSpread ^ version);
            ++count;
        }
        frame = next;
    }
    return number;
}

uint64_t add_unversioned(const PythonRow& row, const char* frame, int most, int& count) noexcept {
    uint64_t number = 0;
    for (int steps = 0; frame != nullptr && count < most && steps < kStepsMost; ++steps) {
        const char* code = nullptr;
        uint8_t owner = 0;
        if (row.owner != kNone) Loads::read(frame + row.owner, owner);
        if (owner > kOfCStack) break;
        if (owner != kOfCStack) {
            Loads::read(frame + row.code, code);
            number = number * kNumberStep + number_of_frame(row, frame, code);
            ++count;
        }
        Loads::read(frame + row.previous, frame);
    }
    return number;
}

}  // namespace

uint64_t number_frames(const Interpreter& interpreter, const PythonRow& row, int most) noexcept {
    const char* thread = thread_now(interpreter);
    const char* frame = nullptr;
    if (thread == nullptr || !innermost<Loads>(row, thread, frame)) return 0;
    int count = 0;
    uint64_t number = __builtin_expect(row.version != kNone && row.owner != kNone, 1)
                          ? add_versioned(row, frame, most, count)
                          : add_unversioned(row, frame, most, count);
    if (count == 0) return 0;
    number ^= number >> 32;
    number *= kNumberStep;
    return (number ^ number >> 29) | 1;
}

namespace {

// A character of a text that is there in full.
uint32_t character(const char* data, uint32_t kind, uint64_t at) noexcept {
    uint32_t value = 0;
    std::memcpy(&value, data + at * kind, kind);  // little-endian
    return value;
}

// Python's own conversion keeps what it made, which only holders of its lock may do.
size_t put_character(uint32_t c, char* to) noexcept {
    if (c < 0x20 || c == 0x7f || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff) c = '?';  // a new line ends a frame
    if (c < 0x80) {
        *to = static_cast<char>(c);
        return 1;
    }
    const uint32_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    to[0] = static_cast<char>((0xffu << (7 - more) & 0xff) | c >> 6 * more);
    for (uint32_t j = more, at = 1; j-- > 0; ++at) to[at] = static_cast<char>(0x80 | (c >> 6 * j & 0x3f));
    return more + 1;
}

size_t put_text(const PythonRow& row, const char* text, char* to, size_t room, bool keeps_end) noexcept {
    uint64_t length = 0;
    uint32_t state = 0;
    Loads::read(text + kTextLength, length);
    Loads::read(text + kTextState, state);
    const uint32_t kind = state >> kKindShift & kKindMask;
    if ((state & kCompactBit) == 0 || (kind != 1 && kind != 2 && kind != 4)) return 0;
    const char* data = beyond(text, (state & kAsciiBit) != 0 ? row.ascii : row.compact);
    constexpr size_t kWidest = 4;
    const uint64_t fits = room / kWidest;
    uint64_t at = keeps_end && length > fits ? length - fits : 0;
    size_t written = 0;
    for (; at < length && room - written >= kWidest; ++at)
        written += put_character(character(data, kind, at), to + written);
    return written;
}

}  // namespace

size_t file_of(const PythonRow& row, const PythonFrame& frame, char* text, size_t room) noexcept {
    const char* file = nullptr;
    Loads::read(frame.code + row.file, file);
    return put_text(row, file, text, room, true);
}

size_t function_of(const PythonRow& row, const PythonFrame& frame, char* text, size_t room) noexcept {
    const char* name = nullptr;
    Loads::read(frame.code + row.name, name);
    return put_text(row, name, text, room, false);
}

}  // namespace ttmem
