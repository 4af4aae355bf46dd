// Names: texts and descriptors that records refer to by a 4-byte id. Append only, so an id never changes its meaning.
#include <cstring>

#include "writer/operations.hpp"

namespace ttmem {
namespace {

// Texts seen before, by hash: a private cache in front of the arena. hash32 << 32 | id. Threads that come with one new text
// at once agree on the id of the first; the others' copies stay behind unused. A forked child's arena begins as its parent's,
// so what is known here stays true. It has a place for every text that an arena can hold (of 16 bytes, at least): one that
// found none would be kept again whenever it comes.
constexpr uint32_t kCacheSlots = kArenaBytes / 16;
constexpr uint32_t kProbes = 256;
std::atomic<uint64_t> cache[kCacheSlots];
std::atomic<bool> has_texts{false};

uint32_t text_hash(const char* text, uint32_t length) noexcept {
    uint64_t hash = 0xcbf2'9ce4'8422'2325ull;
    for (uint32_t i = 0; i < length; ++i) hash = (hash ^ static_cast<uint8_t>(text[i])) * 0x100'0000'01b3ull;
    return static_cast<uint32_t>(hash ^ hash >> 32);
}

bool is_text(const Writer& writer, uint32_t id, const char* text, uint32_t length) noexcept {
    uint32_t bytes = 0;
    const char* known = item_at(writer, id, Item::text, bytes);
    return known != nullptr && bytes == length && std::memcmp(known, text, length) == 0;
}

// Sizes of a kernel follow on its name (journal/kernel_name.hpp). Kernels are built in any number of sizes: once half of the
// arena is taken, new ones are known by their names alone, and the rest of it is for others.
uint32_t stored_length(const Writer& writer, const char* text, uint32_t length) noexcept {
    if (writer.header->arena_used.load(std::memory_order_relaxed) < kArenaBytes / 2) return length;
    const void* end = std::memchr(text, '\0', length);
    return end == nullptr ? length : static_cast<uint32_t>(static_cast<const char*>(end) - text);
}

}  // namespace

void forget_texts() noexcept {
    if (!has_texts.exchange(false, std::memory_order_relaxed)) return;
    for (auto& slot : cache) slot.store(0, std::memory_order_relaxed);
}

uint32_t add_item(Item item, const void* head, uint32_t head_bytes, const void* body, uint32_t body_bytes) noexcept {
    const Writer& writer = the_writer;
    const uint32_t length = head_bytes + body_bytes;
    const uint64_t room = (sizeof(ItemHead) + length + 7) / 8 * 8;
    uint64_t at = writer.header->arena_used.load(std::memory_order_relaxed);
    do {
        if (at + room > kArenaBytes) {
            writer.header->arena_refused.fetch_add(1, std::memory_order_relaxed);
            return 0;
        }
    } while (!writer.header->arena_used.compare_exchange_weak(at, at + room, std::memory_order_acq_rel));
    char* place = writer.arena + at;
    std::memcpy(place + sizeof(ItemHead), head, head_bytes);
    if (body_bytes != 0) std::memcpy(place + sizeof(ItemHead) + head_bytes, body, body_bytes);
    reinterpret_cast<ItemHead*>(place)->head.store(ItemWord{length, item}.pack(), std::memory_order_release);
    return static_cast<uint32_t>(at / 8);
}

uint32_t intern(const char* text, uint32_t length) noexcept {
    if (text == nullptr || length == 0) return 0;
    const Writer& writer = the_writer;
    const uint32_t hash = text_hash(text, length);
    uint32_t own = 0;
    for (uint32_t probe = 0; probe < kProbes; ++probe) {
        auto& slot = cache[(hash + probe) % kCacheSlots];
        uint64_t word = slot.load(std::memory_order_acquire);
        if (word == 0) {
            const uint32_t kept = stored_length(writer, text, length);
            if (kept != length && own == 0) return intern(text, kept);
            if (own == 0) own = add_item(Item::text, text, length, nullptr, 0);
            if (own == 0) return 0;
            has_texts.store(true, std::memory_order_relaxed);
            if (slot.compare_exchange_strong(word, uint64_t{hash} << 32 | own, std::memory_order_acq_rel)) return own;
        }
        const auto id = static_cast<uint32_t>(word);
        if (static_cast<uint32_t>(word >> 32) == hash && is_text(writer, id, text, length)) return id;
    }
    if (own != 0) return own;
    const uint32_t kept = stored_length(writer, text, length);
    return kept != length ? intern(text, kept) : add_item(Item::text, text, length, nullptr, 0);
}

void set_label(const char* text) noexcept {
    if (text == nullptr) return;
    const uint32_t id = intern(text, static_cast<uint32_t>(strnlen(text, 256)));
    the_writer.header->label.store(id, std::memory_order_release);
    publish_now(LabelledRecord{id}.pack());
}

}  // namespace ttmem
