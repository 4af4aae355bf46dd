#include "writer/stacks.hpp"

#include <cstring>

#include "writer/operations.hpp"
#include "writer/pages.hpp"
#include "writer/writer.hpp"

namespace ttmem {
namespace {

constexpr uint32_t kStackSlots = 131'072;  // twice the nodes; and as many texts as there is room for short ones
constexpr uint32_t kStackProbes = 256;
constexpr uint32_t kStackNameMost = 240;    // bytes of a text; the rest is cut
constexpr uint64_t kStackStep = 32 * 1024;  // pages are asked for in steps
constexpr uint32_t kAskAgainAfter = 64;
constexpr uint32_t kNoStackText = ~0u;

//   word        writer                                                      readers   order
//   generation  who made it, before it is held                              any       by the holder
//   ready       who was given pages, only grows                             any       release / acquire
//   slots       compare-and-swap of 0: hash32 << 32 | id, never changed     any       acq_rel / acquire
struct StackTables {
    uint32_t generation;
    std::atomic<uint32_t> refusals;                  // of pages, since they were last given
    std::atomic<uint64_t> nodes_ready, texts_ready;  // bytes that have pages
    AtomicU64 texts[kStackSlots];
    AtomicU64 nodes[kStackSlots];
};
std::atomic<StackTables*> stack_tables{nullptr};

uint32_t hash_of_words(const uint32_t (&words)[4]) noexcept {
    uint64_t hash = 0;
    for (const uint32_t word : words) {
        hash = (hash ^ word) * 0x9e37'79b9'7f4a'7c15ull;
        hash ^= hash >> 29;
    }
    return static_cast<uint32_t>(hash >> 16);
}

uint32_t hash_of_text(std::string_view text) noexcept {
    uint64_t hash = 0xcbf2'9ce4'8422'2325ull;
    for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100'0000'01b3ull;
    return static_cast<uint32_t>(hash ^ hash >> 32);
}

// One of the two parts, in units: nodes, or words of 8 bytes.
struct StackPart {
    AtomicU64& used;
    std::atomic<uint64_t>& ready;
    std::atomic<uint32_t>& refusals;
    uint64_t offset, unit_bytes, units;

    bool has_pages(uint64_t end_bytes) noexcept {
        uint64_t seen = ready.load(std::memory_order_acquire);
        while (seen < end_bytes) {
            const uint64_t all = units * unit_bytes;
            const uint64_t step = all - seen < kStackStep ? all - seen : kStackStep;
            // After a refusal the file system is asked again now and then, not by all processes who comes.
            if (refusals.load(std::memory_order_relaxed) != 0 &&
                refusals.fetch_add(1, std::memory_order_relaxed) % kAskAgainAfter != 0)
                return false;
            if (!ask_for_pages(offset + seen, step)) {
                refusals.fetch_add(1, std::memory_order_relaxed);
                return false;
            }
            refusals.store(0, std::memory_order_relaxed);
            // Several threads may have asked for the same step: it is counted once.
            ready.compare_exchange_strong(seen, seen + step, std::memory_order_acq_rel);
            seen = ready.load(std::memory_order_acquire);
        }
        return true;
    }
    /// The first of `count` units that are the caller's now, or 0.
    uint64_t take(uint64_t count, uint64_t used_unit) noexcept {
        uint64_t at = used.load(std::memory_order_acquire);
        do {
            const uint64_t first = at / used_unit;
            if (first + count > units || !has_pages((first + count) * unit_bytes)) return 0;
        } while (!used.compare_exchange_weak(at, at + count * used_unit, std::memory_order_acq_rel));
        return at / used_unit;
    }
};

char* in_journal(uint64_t offset) noexcept { return reinterpret_cast<char*>(the_writer.header) + offset; }

uint32_t add_stack_text(StackTables& tables, std::string_view text) noexcept {
    constexpr uint64_t kUnit = 8;
    Header& header = *the_writer.header;
    const uint64_t count = (sizeof(ItemHead) + text.size() + kUnit - 1) / kUnit;
    StackPart part{
        header.stack_texts_used, tables.texts_ready, tables.refusals, header.identity.stack_texts_offset, kUnit,
        kStackTextBytes / kUnit};
    const uint64_t id = part.take(count, kUnit);
    if (id == 0) return kNoStackText;
    char* place = in_journal(part.offset + id * kUnit);
    std::memcpy(place + sizeof(ItemHead), text.data(), text.size());
    const uint64_t head = ItemWord{static_cast<uint32_t>(text.size()), Item::text}.pack();
    reinterpret_cast<ItemHead*>(place)->head.store(head, std::memory_order_release);
    return static_cast<uint32_t>(id);
}

bool is_stack_text(uint32_t id, std::string_view text) noexcept {
    const char* place = in_journal(the_writer.header->identity.stack_texts_offset + uint64_t{id} * 8);
    const uint64_t head = reinterpret_cast<const ItemHead*>(place)->head.load(std::memory_order_acquire);
    return ItemWord::unpack(head).bytes == text.size() &&
           std::memcmp(place + sizeof(ItemHead), text.data(), text.size()) == 0;
}

uint32_t add_stack_node(StackTables& tables, const uint32_t (&words)[4]) noexcept {
    Header& header = *the_writer.header;
    StackPart part{header.stack_nodes_used, tables.nodes_ready, tables.refusals, header.identity.stack_nodes_offset,
                   sizeof(StackNode),       kStackNodes};
    const uint64_t number = part.take(1, 1);
    if (number == 0) return 0;
    auto& node = reinterpret_cast<StackNode*>(in_journal(part.offset))[number];
    node.parent.store(words[0], std::memory_order_relaxed);
    node.name.store(words[1], std::memory_order_relaxed);
    node.file.store(words[2], std::memory_order_relaxed);
    node.kind_and_line.store(words[3], std::memory_order_release);
    return static_cast<uint32_t>(number);
}

bool is_stack_node(uint32_t number, const uint32_t (&words)[4]) noexcept {
    const auto& node =
        reinterpret_cast<const StackNode*>(in_journal(the_writer.header->identity.stack_nodes_offset))[number];
    return node.kind_and_line.load(std::memory_order_acquire) == words[3] &&
           node.parent.load(std::memory_order_relaxed) == words[0] &&
           node.name.load(std::memory_order_relaxed) == words[1] &&
           node.file.load(std::memory_order_relaxed) == words[2];
}

// The id that a table has for something with this hash, or the one that add() makes; 0 or kNoStackText as add() says where
// there is no room. Threads that come with the same new thing at once agree on the first; the others' stay behind unused.
template <typename IsIt, typename Add>
uint32_t found_or_added(AtomicU64* slots, uint32_t hash, IsIt is_it, Add add) noexcept {
    uint32_t own = 0;
    for (uint32_t probe = 0; probe < kStackProbes; ++probe) {
        AtomicU64& slot = slots[(hash + probe) % kStackSlots];
        uint64_t word = slot.load(std::memory_order_acquire);
        if (word == 0) {
            if (own == 0) own = add();
            if (own == 0 || own == kNoStackText) return own;
            if (slot.compare_exchange_strong(word, uint64_t{hash} << 32 | own, std::memory_order_acq_rel)) return own;
        }
        const auto id = static_cast<uint32_t>(word);
        if (static_cast<uint32_t>(word >> 32) == hash && is_it(id)) return id;
    }
    return own != 0 ? own : add();
}

// Whole characters only.
std::string_view cut_stack_text(std::string_view text) noexcept {
    if (text.size() <= kStackNameMost) return text;
    size_t end = kStackNameMost;
    while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) --end;
    return {text.data(), end};
}

uint32_t stack_text(StackTables& tables, std::string_view text) noexcept {
    text = cut_stack_text(text);
    if (text.empty()) return 0;
    return found_or_added(
        tables.texts, hash_of_text(text), [text](uint32_t id) noexcept { return is_stack_text(id, text); },
        [&tables, text]() noexcept { return add_stack_text(tables, text); });
}

uint32_t refuse_stack() noexcept {
    the_writer.header->stacks_refused.fetch_add(1, std::memory_order_relaxed);
    return kOtherSite;
}

}  // namespace

uint32_t stack_node(uint32_t parent, Node kind, std::string_view name, std::string_view file, uint32_t line) noexcept {
    if (parent == kOtherSite || (parent != 0 && (parent & kStackSite) == 0)) return parent;
    StackTables* tables = of_this_journal(stack_tables);
    if (tables == nullptr) return refuse_stack();
    const uint32_t name_id = stack_text(*tables, name), file_id = stack_text(*tables, file);
    if (name_id == kNoStackText || file_id == kNoStackText) return refuse_stack();
    const uint32_t words[4] = {parent & ~kStackSite, name_id, file_id, NodeWord{kind, line}.pack()};
    const uint32_t number = found_or_added(
        tables->nodes, hash_of_words(words), [&words](uint32_t id) noexcept { return is_stack_node(id, words); },
        [&]() noexcept { return add_stack_node(*tables, words); });
    return number == 0 ? refuse_stack() : kStackSite | number;
}

}  // namespace ttmem
