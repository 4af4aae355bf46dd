#include "reader/stacks.hpp"

#include <algorithm>
#include <cstring>

namespace ttmem {
namespace {

constexpr size_t kPathMost = 64;
constexpr uint64_t kSiteTextMost = 1024;

}  // namespace

// What is not yet given has no pages: in a mapping of our own journal it must not be looked at.
void StackReader::copy_new(const Source& source, const Identity& identity) {
    uint64_t used[2] = {};
    static_assert(offsetof(Header, stack_texts_used) == offsetof(Header, stack_nodes_used) + sizeof(AtomicU64));
    if (!source.copy(offsetof(Header, stack_nodes_used), used, sizeof used)) return;
    const uint64_t node_count = std::min<uint64_t>(used[0], kStackNodes);
    const uint64_t text_bytes = std::min<uint64_t>(used[1], kStackTextBytes) / 8 * 8;
    const size_t had_nodes = nodes_.size(), had_bytes = texts_.size();
    if (node_count > had_nodes) {
        nodes_.resize(node_count);
        if (!source.copy(identity.stack_nodes_offset + had_nodes * sizeof(RecordCopy), nodes_.data() + had_nodes,
                         (node_count - had_nodes) * sizeof(RecordCopy)))
            nodes_.resize(had_nodes);
    }
    if (text_bytes > had_bytes) {
        texts_.resize(text_bytes);
        if (!source.copy(identity.stack_texts_offset + had_bytes, texts_.data() + had_bytes, text_bytes - had_bytes))
            texts_.resize(had_bytes);
    }
}

bool StackReader::node(const Source& source, const Identity& identity, uint32_t number, RecordCopy& words) {
    if (number >= nodes_.size()) copy_new(source, identity);
    if (number == 0 || number >= nodes_.size()) return false;
    words = nodes_[number];
    if (words.kind_and_line != 0) return true;
    if (!source.copy(identity.stack_nodes_offset + uint64_t{number} * sizeof(RecordCopy), &words, sizeof words))
        return false;
    if (words.kind_and_line != 0) nodes_[number] = words;
    return words.kind_and_line != 0;
}

// A text is whole before any node names it; a copy of the texts may be older than both.
std::string StackReader::text(const Source& source, const Identity& identity, uint32_t id) const {
    const uint64_t at = uint64_t{id} * 8;
    uint64_t head = 0;
    if (id == 0 || at + sizeof head > texts_.size()) return {};
    std::memcpy(&head, texts_.data() + at, sizeof head);
    const bool is_copied = head != 0;
    if (!is_copied && !source.copy(identity.stack_texts_offset + at, &head, sizeof head)) return {};
    const auto [length, found_item] = ItemWord::unpack(head);
    if (found_item != Item::text || length > kSiteTextMost || length > texts_.size() - at - sizeof head) return {};
    std::string found(texts_, at + sizeof head, length);
    if (!is_copied && !source.copy(identity.stack_texts_offset + at + sizeof head, found.data(), length)) return {};
    return found;
}

SitePath StackReader::path(const Source& source, const Identity& identity, uint32_t site) {
    SitePath path;
    path.is_other = site == kOtherSite;
    uint32_t number = is_stack_site(site) ? site & ~kStackSite : 0;
    RecordCopy words{};
    while (path.nodes.size() < kPathMost && node(source, identity, number, words)) {
        const auto [kind, line] = NodeWord::unpack(words.kind_and_line);
        if (kind < Node::frame || kind > Node::device_operation) break;
        path.nodes.push_back({kind, line, text(source, identity, words.name), text(source, identity, words.file)});
        if (words.parent >= number) break;  // it would be younger than its child
        number = words.parent;
    }
    return path;
}

std::string operation_in(const SitePath& path) {
    std::string found;
    for (const SiteNode& node : path.nodes) {
        if (node.kind == Node::operation) return node.name;
        if (node.kind == Node::device_operation && found.empty()) found = node.name;
    }
    return found;
}

std::string tensor_in(const SitePath& path) {
    for (const SiteNode& node : path.nodes)
        if (node.kind == Node::tensor) return node.name;
    return {};
}

std::string frames_text(const SitePath& path) {
    if (path.is_other) return "other";
    std::string text;
    for (const SiteNode& node : path.nodes) {
        if (node.kind != Node::frame) continue;
        if (!text.empty()) text += '\n';
        const size_t begin = text.size();
        text += node.file + ':' + std::to_string(node.line) + ' ' + node.name;
        for (size_t i = begin; i < text.size(); ++i)
            if (static_cast<unsigned char>(text[i]) < 0x20) text[i] = '?';  // a new line ends a frame
    }
    return text;
}

}  // namespace ttmem
