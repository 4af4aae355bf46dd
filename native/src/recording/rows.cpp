#include "recording/rows.hpp"

#include <algorithm>
#include <cstring>

namespace ttmem::recording {
namespace {

constexpr uint32_t kLikenessesMost = 1u << 20;
constexpr uint32_t kProcessesMost = 1u << 20;
constexpr uint8_t kEscape = 255;
enum Word : uint8_t { kTime, kSequence, kSiteWord, kId, kAddressWord, kReservedWord, kRequestedWord, kPerBankWord };
constexpr uint64_t kTagBits = 0xffff'ffff;  // all but the site

bool has_age(const RecordCopy& words) { return words.type() == Type::freed || words.type() == Type::site_changed; }

uint8_t bit(Word word) { return static_cast<uint8_t>(1u << word); }

}  // namespace

RowEncoder::RowEncoder() : slots_{} {
    const auto make = [](Column& column, size_t most) {
        column.bytes = std::unique_ptr<uint8_t[]>(new uint8_t[most]);
        column.at = column.bytes.get();
    };
    make(likenesses_, kRowsMost);
    make(new_, size_t{kRowsMost} * 5 * kVarintMost);
    make(changed_, kRowsMost);
    for (Column& column : words_) make(column, size_t{kRowsMost} * kVarintMost);
    start();
}

void RowEncoder::start() {
    for (Column* column : {&likenesses_, &new_, &changed_}) column->at = column->bytes.get();
    for (Column& column : words_) column.at = column.bytes.get();
    known_.clear();
    last_sequence_.clear();
    count_ = 0;
    ++round_;
    base_ns_ = first_ns_ = last_ns_ = highest_ns_ = 0;
}

uint32_t RowEncoder::likeness_of(uint64_t who, uint64_t where) {
    uint64_t hash = (who * 0x9e37'79b9'7f4a'7c15ull) ^ (where * 0xd6e8'feb8'6659'fd93ull);
    hash ^= hash >> 32;
    for (size_t tries = 0; tries < 8; ++tries) {
        Slot& slot = slots_[(hash + tries) % kSlots];
        if (slot.round == round_ && slot.who == who && slot.where == where) return slot.number;
        if (slot.round == round_ && tries != 7) continue;
        // Not found: known under a slot that was given away, it simply gets another number.
        slot = {round_, static_cast<uint32_t>(known_.size()), who, where};
        break;
    }
    known_.push_back({who, where, 0, 0, 0, 0, 0, 0});
    return static_cast<uint32_t>(known_.size() - 1);
}

void RowEncoder::add(uint32_t process, const RecordCopy& words) noexcept {
    const uint64_t who = uint64_t{process} << 32 | (words.tag & kTagBits);
    const uint64_t where = uint64_t{words.target()} << 16 | words.thread();
    const size_t known = known_.size();
    const uint32_t number = likeness_of(who, where);
    *likenesses_.at++ = static_cast<uint8_t>(std::min<uint32_t>(number, kEscape));
    if (number >= kEscape) new_.at = put_varint(new_.at, number);
    if (number == known)
        for (const uint64_t word : {who >> 32, who & kTagBits, where >> 16, where & 0xffff})
            new_.at = put_varint(new_.at, word);
    if (last_sequence_.size() <= process) last_sequence_.resize(process + size_t{1});
    Likeness& before = known_[number];
    const uint64_t sequence = words.sequence();
    uint8_t changed = 0;
    const auto put = [&](Word word, uint64_t value, uint64_t expected) {
        if (value == expected) return;
        changed |= bit(word);
        words_[word].at = put_varint(words_[word].at, zigzag(value - expected));
    };
    const auto put_like = [&](Word word, uint64_t value, uint64_t& last) {
        put(word, value, last);
        last = value;
    };
    if (count_ == 0) base_ns_ = last_ns_ = words.time;
    const bool is_in_order = static_cast<RowType>(words.type()) != RowType::gap_peaked;
    if (is_in_order && words.time != 0 && (words.time < first_ns_ || first_ns_ == 0)) first_ns_ = words.time;
    highest_ns_ = std::max(highest_ns_, words.time);
    put(kTime, words.time, last_ns_);
    last_ns_ = words.time;
    put(kSequence, sequence, last_sequence_[process] + 1);
    last_sequence_[process] = sequence;
    put_like(kSiteWord, words.site(), before.site);
    put_like(kId, words.id, before.id);
    put_like(kAddressWord, has_age(words) ? sequence - words.address : words.address, before.address);
    put_like(kReservedWord, in::kReserved.of(words.reserved), before.reserved);
    put_like(kRequestedWord, words.requested_bytes(), before.requested);
    put_like(kPerBankWord, words.per_bank, before.per_bank);
    *changed_.at++ = changed;
    ++count_;
}

std::string RowEncoder::take() {
    std::string payload;
    std::vector<const Column*> columns{&likenesses_, &new_, &changed_};
    for (const Column& column : words_) columns.push_back(&column);
    size_t total = kVarintMost * columns.size();
    for (const Column* column : columns) total += column->size();
    payload.reserve(total);
    put_varint(payload, base_ns_);
    for (const Column* column : columns) put_varint(payload, column->size());
    for (const Column* column : columns)
        payload.append(reinterpret_cast<const char*>(column->bytes.get()), column->size());
    start();
    return payload;
}

RowDecoder::RowDecoder(std::string_view payload, uint32_t row_count) : left_(row_count) {
    Bytes all(payload);
    time_ = all.varint();
    uint64_t sizes[11] = {};
    for (uint64_t& size : sizes) size = all.varint();
    Bytes* columns[11] = {&likenesses_, &new_, &changed_};
    for (size_t i = 0; i < 8; ++i) columns[3 + i] = &words_[i];
    for (size_t i = 0; i < 11; ++i) *columns[i] = Bytes(all.take(sizes[i]));
    has_failed_ = all.has_failed() || row_count > kRowsMost;
    if (has_failed_) left_ = 0;
}

bool RowDecoder::add_likeness() {
    const uint64_t process = new_.varint();
    Likeness fresh;
    fresh.process = static_cast<uint32_t>(process);
    fresh.tag = new_.varint();
    fresh.target = new_.varint();
    fresh.thread = new_.varint();
    if (new_.has_failed() || process >= kProcessesMost || fresh.tag > kTagBits ||
        (fresh.target | fresh.thread) >> 16 != 0)
        return false;
    known_.push_back(fresh);
    if (last_sequence_.size() <= process) last_sequence_.resize(process + 1);
    return true;
}

bool RowDecoder::next(Row& row) {
    if (left_ == 0 || has_failed_) return false;
    uint64_t number = likenesses_.byte();
    if (number == kEscape) number = new_.varint();
    if (number == known_.size() && !add_likeness()) return fail();
    if (number >= known_.size()) return fail();
    Likeness& like = known_[number];
    const uint8_t changed = changed_.byte();
    const auto next_of = [&](Word word, uint64_t expected) {
        return (changed & bit(word)) != 0 ? expected + unzigzag(words_[word].varint()) : expected;
    };
    row.process = like.process;
    RecordCopy& words = row.words;
    words.time = time_ = next_of(kTime, time_);
    uint64_t& last = last_sequence_[like.process];
    const uint64_t sequence = last = next_of(kSequence, last + 1);
    words.commit = committed(sequence);
    like.site = next_of(kSiteWord, like.site);
    like.id = next_of(kId, like.id);
    like.address = next_of(kAddressWord, like.address);
    like.reserved = next_of(kReservedWord, like.reserved);
    like.requested = next_of(kRequestedWord, like.requested);
    like.per_bank = next_of(kPerBankWord, like.per_bank);
    words.tag = in::kSite.put(like.tag, like.site);
    words.id = like.id;
    words.address = has_age(words) ? sequence - like.address : like.address;
    words.reserved = in::kReserved.pack(like.reserved) | in::kTarget.pack(like.target);
    words.requested = in::kRequested.pack(like.requested) | in::kThread.pack(like.thread);
    words.per_bank = like.per_bank;
    if (likenesses_.has_failed() || changed_.has_failed() || new_.has_failed()) return fail();
    for (const Bytes& column : words_)
        if (column.has_failed()) return fail();
    --left_;
    return true;
}

}  // namespace ttmem::recording
