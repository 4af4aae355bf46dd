#include "ledger/places/overlaps.hpp"

#include <algorithm>
#include <tuple>

#include "ledger/book/book.hpp"

namespace ttmem {
namespace {

// Binaries of a program lie at the address that their entry has in place of a site.
uint64_t address_of(const RecordCopy& words) {
    if (words.is_by_core()) return 0;  // it takes memory of some cores only
    if (is_buffer(words.kind())) return words.buffer_address();
    return words.kind() == TTMEM_PROGRAM_BINARY ? words.site() : 0;
}

// What two have in common, both in order.
Spans common_to(const Spans& a, const Spans& b) {
    Spans both;
    for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        const uint64_t from = std::max(a[i].first, b[j].first), to = std::min(a[i].second, b[j].second);
        if (from < to) both.emplace_back(from, to);
        a[i].second < b[j].second ? ++i : ++j;
    }
    return both;
}

// What each target holds of one pool of a chip.
std::map<uint16_t, Spans> spans_by_target(const Book& book, uint32_t device, uint8_t pool, uint64_t bank_count) {
    std::map<uint16_t, Spans> found;
    book.table().for_each([&](const RecordCopy& words) {
        if (words.pool() != pool || !book.touches(book.targets()[words.target()], device)) return;
        const Span span = charged_span(words, bank_count);
        if (span.first != span.second) found[words.target()].push_back(span);
    });
    for (auto& [target, spans] : found) join(spans);
    return found;
}

}  // namespace

Span placed_span(const RecordCopy& words, uint64_t bank_count) {
    const uint64_t address = takes_banks(words) && !words.is_by_core() ? address_of(words) : 0;
    if (address == 0) return {};
    // Its share of what all banks give up together, or what it says of one.
    const uint64_t said = is_buffer(words.kind()) ? words.per_bank_bytes() : 0;
    const uint64_t share = bank_count == 0 ? 0 : (words.reserved_bytes() + bank_count - 1) / bank_count;
    const uint64_t block = std::max(said, share);
    return block == 0 ? Span{} : span_at(address, block);
}

Span charged_span(const RecordCopy& words, uint64_t bank_count) {
    // One that is allocated by core is on its chip beside what the mesh holds there: the runtime keeps both apart.
    const bool is_everywhere = takes_banks(words) && bank_count != 0 && !words.is_by_core();
    const uint64_t address = is_everywhere ? address_of(words) : 0;
    return address == 0 ? Span{} : span_at(address, words.reserved_bytes() / bank_count);
}

Coverage::Depths::iterator Coverage::split(uint64_t at) {
    const auto next = depths_.upper_bound(at);
    const uint32_t depth = next == depths_.begin() ? 0 : std::prev(next)->second;
    return depths_.try_emplace(next, at, depth);
}

// A boundary at which nothing changes is none.
void Coverage::join(Depths::iterator at) {
    const uint32_t before = at == depths_.begin() ? 0 : std::prev(at)->second;
    if (at->second == before) depths_.erase(at);
}

uint64_t Coverage::change(Span span, bool is_added) {
    if (span.first >= span.second) return 0;
    const auto from = split(span.first), to = split(span.second);
    uint64_t changed = 0;
    for (auto at = from; at != to; ++at) {
        if (at->second == (is_added ? 0u : 1u)) changed += std::next(at)->first - at->first;
        if (is_added)
            ++at->second;
        else if (at->second > 0)
            --at->second;
    }
    join(to);
    join(from);
    return changed;
}

std::vector<Overlap> overlaps_of(const Book& book) {
    std::map<std::tuple<uint8_t, uint16_t, uint16_t>, Overlap> found;
    for (const auto& [place, shared] : book.shared_pools()) {
        if (shared.overlap <= 0) continue;
        const auto by_target = spans_by_target(book, place.first, place.second, shared.bank_count);
        for (auto first = by_target.begin(); first != by_target.end(); ++first)
            for (auto second = std::next(first); second != by_target.end(); ++second) {
                const Spans both = common_to(first->second, second->second);
                if (both.empty()) continue;
                Overlap& overlap = found[{place.second, first->first, second->first}];
                overlap.pool = place.second;
                overlap.first = first->first;
                overlap.second = second->first;
                overlap.address = both.front().first;
                overlap.bytes = length_of(both) * shared.bank_count;
                overlap.devices.push_back(place.first);
            }
    }
    std::vector<Overlap> overlaps;
    for (auto& [key, overlap] : found) overlaps.push_back(std::move(overlap));
    return overlaps;
}

// ---- of a book: which pools are shared, and what that takes off their sums

int64_t Book::overlap_change(const RecordCopy& words, uint32_t device, bool is_added) {
    const uint8_t pool = words.pool();
    if (pool >= kPlacedPools || !has_addresses_) return 0;
    uint16_t& holder = cell_of_[device]->holders[pool];
    if (is_added && holder != words.target()) {
        if (holder == kNoTarget || targets_[holder].totals.pools[pool].count == 0)
            holder = words.target();
        else if (!shared_.contains({device, pool}))
            begin_sharing(device, pool, words.sequence());
    }
    if (shared_.empty()) return 0;
    const auto found = shared_.find({device, pool});
    if (found == shared_.end()) return 0;
    SharedPool& shared = found->second;
    const Span span = charged_span(words, shared.bank_count);
    const uint64_t changed = is_added ? shared.coverage.add(span) : shared.coverage.remove(span);
    const auto overlap = static_cast<int64_t>((span.second - span.first - changed) * shared.bank_count);
    const int64_t change = is_added ? overlap : -overlap;
    shared.overlap += change;
    return change;
}

// A second target holds something there: what lies where is worked out once, from the list, without the newest life.
void Book::begin_sharing(uint32_t device, uint8_t pool, uint64_t newest) {
    const uint64_t bank_count = bank_count_of(devices_.at(device).facts, pool);
    if (bank_count == 0) return;
    SharedPool& shared = shared_[{device, pool}];
    shared.bank_count = bank_count;
    table_.for_each([&](const RecordCopy& words) {
        if (words.pool() != pool || words.sequence() == newest || !touches(targets_[words.target()], device)) return;
        const Span span = charged_span(words, bank_count);
        const uint64_t added = shared.coverage.add(span);
        shared.overlap += static_cast<int64_t>((span.second - span.first - added) * bank_count);
    });
    take_off(device, pool, shared.overlap);
}

void Book::take_off(uint32_t device, uint8_t pool, int64_t overlap) {
    add_to(cell_of_[device]->pools[pool].used, -overlap);
    if (is_shared_) add_to(devices_.at(device).cell.pools[pool].used, -overlap);
}

void Book::forget_sharing() {
    for (const auto& [place, shared] : shared_) take_off(place.first, place.second, -shared.overlap);
    shared_.clear();
    for (auto& [number, cell] : cells_) std::fill(std::begin(cell.holders), std::end(cell.holders), kNoTarget);
}

void Book::find_sharing() {
    if (!has_addresses_ || !is_counting_) return;
    table_.for_each([&](const RecordCopy& words) {
        const uint8_t pool = words.pool();
        if (pool >= kPlacedPools || is_bookkeeping(words)) return;
        for (const uint32_t device : targets_[words.target()].devices) {
            uint16_t& holder = cell_of_[device]->holders[pool];
            if (holder == kNoTarget) holder = words.target();
            if (holder != words.target() && !shared_.contains({device, pool})) begin_sharing(device, pool, 0);
        }
    });
}

}  // namespace ttmem
