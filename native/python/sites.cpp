// Python stacks as sites of buffers: which line of the program asked for the memory.
//
// The writer asks, inside the report, on the thread that allocates. Stacks that were seen before are found by the code
// objects and instructions of their frames; only for a new one a text is made:
//
//   frames (innermost first, at most 16)  ->  hash  ->  table of known stacks  ->  site, as interned in the journal
//                                                            | not there: text "file:line function\n...", interned
//
// Any number of threads may do so at once. A place of the table is taken by compare-and-swap of its hash and never given
// up; its site follows, and whoever comes in between makes the same text, which the journal knows by then.
#include <atomic>
#include <memory>

#include "python/frames.h"
#include "python/own_journal.hpp"
#include "ttmem/client.h"

namespace nb = nanobind;

namespace ttmem {
namespace {

constexpr int kFramesMost = 16;
constexpr uint32_t kStacks = 16'384;               // places in the table
constexpr uint32_t kStacksMost = kStacks / 4 * 3;  // then texts are made again each time
constexpr size_t kTextMost = 2000;
constexpr uint64_t kReady = 1ull << 32;

struct Stack {
    std::atomic<uint64_t> hash{0};  // 0: free
    std::atomic<uint64_t> site{0};  // with kReady once it is known
};

std::unique_ptr<Stack[]> stacks;  // made before anybody asks, and never given back
std::atomic<uint32_t> stack_count{0};

uint64_t mixed(uint64_t hash, uint64_t word) noexcept {
    hash = (hash ^ word) * 0x9e37'79b9'7f4a'7c15ull;
    return hash ^ hash >> 29;
}

uint64_t hash_of(const ttmem_frame* frames, int depth) noexcept {
    uint64_t hash = static_cast<uint64_t>(depth);
    for (int i = 0; i < depth; ++i)
        hash = mixed(mixed(hash, frames[i].identity), static_cast<uint64_t>(frames[i].instruction));
    return hash | 1;
}

// The place of a stack, its own or the first free one; none where it would have to be looked for too long.
Stack* place_of(uint64_t hash) noexcept {
    for (uint32_t at = static_cast<uint32_t>(hash >> 40), tries = 0; tries < 256; ++at, ++tries) {
        Stack& stack = stacks[at % kStacks];
        uint64_t seen = stack.hash.load(std::memory_order_acquire);
        if (seen == hash) return &stack;
        if (seen != 0) continue;
        if (stack_count.load(std::memory_order_relaxed) >= kStacksMost) return nullptr;
        if (stack.hash.compare_exchange_strong(seen, hash, std::memory_order_acq_rel)) {
            stack_count.fetch_add(1, std::memory_order_relaxed);
            return &stack;
        }
        if (seen == hash) return &stack;
    }
    return nullptr;
}

uint32_t intern_stack(const ttmem_frame* frames, int depth) noexcept {
    char text[kTextMost];
    size_t length = 0;
    for (int i = 0; i < depth; ++i) {
        const size_t begin = length + (i == 0 ? 0 : 1);
        if (begin >= sizeof text) break;
        const size_t written = ttmem_frame_text(&frames[i], text + begin, sizeof text - begin);
        if (written == 0) break;  // only whole frames
        if (i != 0) text[length] = '\n';
        length = begin + written;
    }
    return ttmem_intern(text, static_cast<uint32_t>(length));
}

uint32_t current_site() {
    ttmem_frame frames[kFramesMost];
    const int depth = ttmem_python_frames(frames, kFramesMost);
    if (depth == 0 || TTMEM_ON == 0) return 0;
    Stack* stack = place_of(hash_of(frames, depth));
    const uint64_t known = stack != nullptr ? stack->site.load(std::memory_order_acquire) : 0;
    if (__builtin_expect(known != 0, 1)) return static_cast<uint32_t>(known);
    const uint32_t site = intern_stack(frames, depth);  // 0 too is kept: there is no room for more names
    if (stack != nullptr) stack->site.store(kReady | site, std::memory_order_release);
    return site;
}

}  // namespace

void add_sites(nb::module_& own) {
    own.def("record_sites", [] {
        if (stacks == nullptr) stacks = std::make_unique<Stack[]>(kStacks);
        ttmem_set_site_source(current_site);
    });
    own.def("forget_sites", [] { ttmem_set_site_source(nullptr); });
    own.def("current_site", [] { return stacks == nullptr ? 0u : current_site(); });
    own.def("stack_count", [] { return stack_count.load(); });
}

}  // namespace ttmem
