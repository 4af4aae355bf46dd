// Python stacks as sites of buffers: who asked for the memory, as the interpreter sees it at that moment.
//
// The writer asks, inside the report, on the thread that allocates. Only if that thread holds the interpreter lock is there
// an answer: waiting for the lock could block the host. Nothing here runs Python code. Stacks that were seen before are
// found by the code objects and instructions of their frames, without a text being made:
//
//   frames (innermost first, at most 16)  ->  hash  ->  table of known stacks  ->  site, as interned in the journal
//                                                            | not there: text "file:line function\n...", interned
//
// A known stack keeps its code objects alive: a new one at the same address would be taken for them. The table never drops
// one, since freeing a code object may run somebody's callback in the midst of an allocation; when it is full, texts are
// made again each time.
#include <Python.h>
#include <frameobject.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "python/own_journal.hpp"
#include "ttmem/client.h"
#include "writer/owner.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

constexpr int kFramesMost = 16;
constexpr uint32_t kStacks = 16'384;  // places; three quarters of them are used at most
constexpr size_t kTextMost = 2000;

struct Frame {
    PyCodeObject* code;
    int instruction;
};

struct Stack {
    uint64_t hash = 0;  // 0: free
    uint32_t site = 0;
    int depth = 0;
    Frame* frames = nullptr;
};

// Guarded by the interpreter lock, as all of this.
std::unique_ptr<Stack[]> stacks;
uint32_t stack_count = 0;

bool holds_interpreter() noexcept {
    if (Py_IsInitialized() == 0) return false;
    PyThreadState* own = PyGILState_GetThisThreadState();
#if PY_VERSION_HEX >= 0x030d0000
    return own != nullptr && own == PyThreadState_GetUnchecked();
#else
    return own != nullptr && own == _PyThreadState_UncheckedGet();
#endif
}

// Frames may be made when they are asked for, and making one may start a collection, which runs Python code; since 3.12
// collections wait for the interpreter's own time.
class NoCollection {
public:
#if PY_VERSION_HEX < 0x030c0000
    NoCollection() : was_enabled_(PyGC_Disable()) {}
    ~NoCollection() {
        if (was_enabled_ != 0) PyGC_Enable();
    }

private:
    int was_enabled_;
#else
    NoCollection() = default;
#endif
};

int instruction_of(PyFrameObject* frame) noexcept {
#if PY_VERSION_HEX >= 0x030b0000
    return PyFrame_GetLasti(frame);
#else
    return frame->f_lasti;
#endif
}

uint64_t mixed(uint64_t hash, uint64_t word) noexcept {
    hash = (hash ^ word) * 0x9e37'79b9'7f4a'7c15ull;
    return hash ^ hash >> 29;
}

// The frames of the calling thread. Their code objects are kept by the frames as long as nothing runs.
int take_frames(Frame (&frames)[kFramesMost], uint64_t& hash) noexcept {
    int depth = 0;
    PyFrameObject* frame = PyEval_GetFrame();
    Py_XINCREF(frame);
    while (frame != nullptr && depth < kFramesMost) {
        PyCodeObject* code = PyFrame_GetCode(frame);
        frames[depth] = {code, instruction_of(frame)};
        Py_DECREF(code);  // its frame has another
        hash = mixed(mixed(hash, reinterpret_cast<uintptr_t>(code)), static_cast<uint64_t>(frames[depth].instruction));
        ++depth;
        PyFrameObject* caller = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = caller;
    }
    Py_XDECREF(frame);
    return depth;
}

bool is_same(const Stack& stack, const Frame* frames, int depth) noexcept {
    if (stack.depth != depth) return false;
    for (int i = 0; i < depth; ++i)
        if (stack.frames[i].code != frames[i].code || stack.frames[i].instruction != frames[i].instruction)
            return false;
    return true;
}

Stack& place_of(uint64_t hash, const Frame* frames, int depth) noexcept {
    for (uint32_t at = static_cast<uint32_t>(hash >> 32);; ++at) {
        Stack& stack = stacks[at % kStacks];
        if (stack.hash == 0 || (stack.hash == hash && is_same(stack, frames, depth))) return stack;
    }
}

const char* utf8(PyObject* text) noexcept {
    const char* bytes = text != nullptr ? PyUnicode_AsUTF8(text) : nullptr;
    if (bytes == nullptr) PyErr_Clear();  // lone surrogates in a file name
    return bytes != nullptr ? bytes : "?";
}

uint32_t intern_stack(const Frame* frames, int depth) noexcept {
    char text[kTextMost];
    size_t length = 0;
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);  // an error on its way must arrive unharmed
    for (int i = 0; i < depth; ++i) {
        PyCodeObject* code = frames[i].code;
#if PY_VERSION_HEX >= 0x030b0000
        const char* function = utf8(code->co_qualname);
#else
        const char* function = utf8(code->co_name);
#endif
        const int line = PyCode_Addr2Line(code, frames[i].instruction);
        const int written = std::snprintf(text + length, sizeof text - length, "%s%s:%d %s", i == 0 ? "" : "\n",
                                          utf8(code->co_filename), line, function);
        if (written < 0 || static_cast<size_t>(written) >= sizeof text - length) break;  // only whole frames
        length += static_cast<size_t>(written);
    }
    PyErr_Restore(type, value, trace);
    return ttmem_intern(text, static_cast<uint32_t>(length));
}

void remember(Stack& stack, uint64_t hash, const Frame* frames, int depth, uint32_t site) noexcept {
    auto* kept = static_cast<Frame*>(PyMem_RawMalloc(sizeof(Frame) * static_cast<size_t>(depth)));
    if (kept == nullptr) return;
    std::memcpy(kept, frames, sizeof(Frame) * static_cast<size_t>(depth));
    for (int i = 0; i < depth; ++i) Py_INCREF(kept[i].code);
    stack = {hash, site, depth, kept};
    ++stack_count;
}

uint32_t current_site() {
    if (!holds_interpreter()) return 0;
    [[maybe_unused]] const NoCollection held;
    Frame frames[kFramesMost];
    uint64_t hash = 0x5174'e500'0000'0000ull;
    const int depth = take_frames(frames, hash);
    if (depth == 0 || stacks == nullptr) return 0;
    if (hash == 0) hash = 1;
    Stack& stack = place_of(hash, frames, depth);
    if (__builtin_expect(stack.hash != 0, 1)) return stack.site;
    const uint32_t site = intern_stack(frames, depth);
    // Also one for which there was no room: it is not worth a text at every allocation.
    if (TTMEM_ON != 0 && stack_count < kStacks / 4 * 3) remember(stack, hash, frames, depth, site);
    return site;
}

}  // namespace

void add_sites(nb::module_& own) {
    own.def("record_sites", [] {
        if (stacks == nullptr) stacks = std::make_unique<Stack[]>(kStacks);
        ttmem_set_site_source(current_site);
    });
    own.def("forget_sites", [] { ttmem_set_site_source(nullptr); });
    own.def("current_site", [] { return nb::int_(stacks == nullptr ? 0u : current_site()); });
    own.def("stack_count", [] { return stack_count; });
}

}  // namespace ttmem
