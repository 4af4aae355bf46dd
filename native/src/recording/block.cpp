#include "recording/block.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

namespace ttmem::recording {
namespace {

constexpr unsigned kFlagBits = 4;
constexpr uint64_t kFlagsMost = (1u << kFlagBits) - 1;
static_assert((kHasChip | kIsOfGap | kIsBound) <= kFlagsMost);

constexpr size_t kBefore = offsetof(BlockHead, checksum), kBehind = kBefore + sizeof(uint64_t);
static_assert(kBefore == sizeof(uint64_t));

uint64_t sum_of(std::string_view bytes) {
    uint64_t before = 0;
    std::memcpy(&before, bytes.data(), kBefore);
    return checksum(bytes.data() + kBehind, bytes.size() - kBehind, before);
}

}  // namespace

std::string bytes_of(const std::vector<Balance>& balances) {
    std::string bytes;
    std::map<std::string, uint64_t> known;
    uint64_t last = 0;
    for (auto from = balances.begin(); from != balances.end();) {
        const uint64_t chip = from->chip;
        const auto to = std::find_if(from, balances.end(), [&](const Balance& one) { return one.chip != chip; });
        std::string list;
        put_varint(list, static_cast<uint64_t>(to - from));
        for (; from != to; ++from) {
            put_varint(list, uint64_t{from->pool} << kFlagBits | from->flags);
            put_varint(list, zigzag(static_cast<uint64_t>(from->start)));
            put_varint(list, zigzag(static_cast<uint64_t>(from->highest) - static_cast<uint64_t>(from->start)));
        }
        const auto [at, is_new] = known.try_emplace(list, known.size());
        put_varint(bytes, zigzag(chip - last));
        put_varint(bytes, at->second);
        if (is_new) bytes += list;
        last = chip;
    }
    return bytes;
}

bool read_balances(std::string_view bytes, std::vector<Balance>& balances) {
    Bytes from(bytes);
    std::vector<std::vector<Balance>> lists;
    uint64_t chip = 0;
    while (from.left() != 0) {
        chip += unzigzag(from.varint());
        const uint64_t number = from.varint();
        if (number > lists.size()) return false;
        if (number == lists.size()) {
            std::vector<Balance>& list = lists.emplace_back();
            for (uint64_t left = from.varint(); left != 0 && !from.has_failed(); --left) {
                const uint64_t what = from.varint();
                const uint64_t start = unzigzag(from.varint()), highest = start + unzigzag(from.varint());
                list.push_back({0, static_cast<uint32_t>(what >> kFlagBits), static_cast<uint32_t>(what & kFlagsMost),
                                static_cast<int64_t>(start), static_cast<int64_t>(highest)});
            }
        }
        if (from.has_failed() || balances.size() + lists[number].size() > kBalancesMost) return false;
        for (Balance one : lists[number]) {
            one.chip = chip;
            balances.push_back(one);
        }
    }
    return true;
}

std::string block_bytes(BlockHead head, const std::vector<Balance>& balances, std::string_view payload) {
    const std::string said = bytes_of(balances);
    head.balance_bytes = static_cast<uint32_t>(said.size());
    head.stored_bytes = static_cast<uint32_t>(payload.size());
    if (head.codec == Codec::plain) head.plain_bytes = head.stored_bytes;
    std::string bytes;
    bytes.reserve(block_size(head));
    bytes.append(reinterpret_cast<const char*>(&head), sizeof head).append(said).append(payload);
    head.checksum = sum_of(bytes);
    std::memcpy(bytes.data(), &head, sizeof head);
    return bytes;
}

std::optional<BlockHead> head_of(std::string_view bytes, std::string& error) {
    BlockHead head;
    if (bytes.size() < sizeof head) {
        error = "a block's head has 80 bytes, here are " + std::to_string(bytes.size());
        return std::nullopt;
    }
    std::memcpy(&head, bytes.data(), sizeof head);
    if (head.magic != kBlockMagic) {
        error = "a block begins with TTMB, here is something else";
        return std::nullopt;
    }
    if (head.format != kFormat) {
        error = "this is version " + std::to_string(head.format) + " of the format, this program reads version " +
                std::to_string(kFormat);
        return std::nullopt;
    }
    const bool is_sane = head.kind >= BlockKind::names && head.kind <= BlockKind::keyframe &&
                         head.codec <= Codec::zlib && head.balance_bytes <= kBalanceBytesMost &&
                         head.stored_bytes <= kPayloadMost && head.plain_bytes <= kPayloadMost;
    if (is_sane) return head;
    error = "its head says what no head can say";
    return std::nullopt;
}

std::optional<StoredBlock> block_of(std::string_view bytes, std::string& error) {
    const std::optional<BlockHead> head = head_of(bytes, error);
    if (!head) return std::nullopt;
    if (bytes.size() < block_size(*head)) {
        error =
            "its block has " + std::to_string(block_size(*head)) + " bytes, here are " + std::to_string(bytes.size());
        return std::nullopt;
    }
    bytes = bytes.substr(0, block_size(*head));
    if (sum_of(bytes) != head->checksum) {
        error = "its checksum is another: the block was changed or written in part";
        return std::nullopt;
    }
    StoredBlock block{*head, {}, bytes.substr(bytes.size() - head->stored_bytes)};
    if (read_balances(bytes.substr(sizeof *head, head->balance_bytes), block.balances)) return block;
    error = "its balances are none";
    return std::nullopt;
}

}  // namespace ttmem::recording
