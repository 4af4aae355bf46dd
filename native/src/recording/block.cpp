#include "recording/block.hpp"

#include <cstddef>

namespace ttmem::recording {
namespace {

constexpr size_t kBefore = offsetof(BlockHead, checksum), kBehind = kBefore + sizeof(uint64_t);
static_assert(kBefore == sizeof(uint64_t));

uint64_t sum_of(std::string_view bytes) {
    uint64_t before = 0;
    std::memcpy(&before, bytes.data(), kBefore);
    return checksum(bytes.data() + kBehind, bytes.size() - kBehind, before);
}

}  // namespace

std::string block_bytes(BlockHead head, const std::vector<Balance>& balances, std::string_view payload) {
    head.balance_count = static_cast<uint32_t>(balances.size());
    head.stored_bytes = payload.size();
    if (head.codec == Codec::plain) head.plain_bytes = payload.size();
    std::string bytes(block_size(head), '\0');
    const auto put_head = [&] { std::memcpy(bytes.data(), &head, sizeof head); };
    put_head();
    char* to = bytes.data() + sizeof head;
    if (!balances.empty()) std::memcpy(to, balances.data(), balances.size() * sizeof(Balance));
    std::memcpy(to + balances.size() * sizeof(Balance), payload.data(), payload.size());
    head.checksum = sum_of(bytes);
    put_head();
    return bytes;
}

std::optional<BlockHead> head_of(std::string_view bytes, std::string& error) {
    BlockHead head;
    if (bytes.size() < sizeof head) {
        error = "a block's head has 96 bytes, here are " + std::to_string(bytes.size());
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
                         head.codec <= Codec::zlib && head.balance_count <= kBalancesMost &&
                         head.stored_bytes <= kPayloadMost && head.plain_bytes <= kPayloadMost;
    if (is_sane) return head;
    error = "its head says what no head can say";
    return std::nullopt;
}

std::vector<Balance> balances_of(std::string_view bytes, const BlockHead& head) {
    const uint64_t size = uint64_t{head.balance_count} * sizeof(Balance);
    if (bytes.size() < sizeof head + size) return {};
    std::vector<Balance> balances(head.balance_count);
    if (size != 0) std::memcpy(balances.data(), bytes.data() + sizeof head, size);
    return balances;
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
    return StoredBlock{*head, balances_of(bytes, *head), bytes.substr(bytes.size() - head->stored_bytes)};
}

}  // namespace ttmem::recording
