#include "recording/names.hpp"

#include <algorithm>

namespace ttmem::recording {
namespace {

constexpr uint64_t kNodesMost = 4096;
constexpr std::string_view kScript = "script";
constexpr uint64_t kIsSocket = 1, kIsVisible = 2, kIsShared = 4;

ProcessFacts facts_from(Bytes& bytes) {
    ProcessFacts facts;
    facts.key = bytes.varint();
    facts.pid = static_cast<uint32_t>(bytes.varint());
    facts.uid = static_cast<uint32_t>(bytes.varint());
    facts.start_ticks = bytes.varint();
    facts.started_ns = bytes.varint();
    facts.pid_namespace = bytes.varint();
    const uint64_t flags = bytes.varint();
    facts.is_socket = (flags & kIsSocket) != 0;
    facts.is_visible = (flags & kIsVisible) != 0;
    facts.is_shared = (flags & kIsShared) != 0;
    for (std::string* text : {&facts.label, &facts.command, &facts.path, &facts.sites_off}) *text = bytes.text();
    return facts;
}

SitePath path_from(Bytes& bytes) {
    SitePath path;
    path.is_other = bytes.varint() != 0;
    for (uint64_t left = std::min(bytes.varint(), kNodesMost); left != 0 && !bytes.has_failed(); --left) {
        SiteNode node{};
        node.kind = static_cast<Node>(bytes.varint());
        node.line = static_cast<uint32_t>(bytes.varint());
        node.name = bytes.text();
        node.file = bytes.text();
        path.nodes.push_back(node);
    }
    return path;
}

}  // namespace

std::string without_directories(std::string_view text) {
    std::string kept;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '/') {
            kept.push_back(text[i]);
            continue;
        }
        const size_t word = kept.find_last_of(" \n\t\"'(=,:");
        kept.resize(word == std::string::npos ? 0 : word + 1);
    }
    return kept;
}

std::string NameWriter::shown(std::string_view text) const {
    return is_redacted_ ? without_directories(text) : std::string(text);
}

// A file that the command line names is an argument of it.
std::string NameWriter::shown_file(uint32_t process, std::string_view name) const {
    std::string kept = shown(name);
    if (!is_redacted_ || kept.empty()) return kept;
    const auto command = commands_.find(process);
    const bool is_named = command != commands_.end() && command->second.find(kept) != std::string::npos;
    return is_named ? std::string(kScript) : kept;
}

void NameWriter::begin(Name what, uint32_t process, uint32_t id) {
    ++count_;
    bytes_.push_back(static_cast<char>(what));
    put_varint(bytes_, process);
    put_varint(bytes_, id);
}

void NameWriter::process(uint32_t number, const ProcessFacts& facts) {
    begin(Name::process, number, 0);
    if (is_redacted_) commands_[number] = facts.command;
    const uint64_t flags =
        (facts.is_socket ? kIsSocket : 0) | (facts.is_visible ? kIsVisible : 0) | (facts.is_shared ? kIsShared : 0);
    for (const uint64_t word : {facts.key, uint64_t{facts.pid}, uint64_t{facts.uid}, facts.start_ticks,
                                facts.started_ns, facts.pid_namespace, flags})
        put_varint(bytes_, word);
    put_text(bytes_, facts.label);
    put_text(bytes_, is_redacted_ ? std::string_view() : std::string_view(facts.command));
    put_text(bytes_, is_redacted_ ? std::string_view() : std::string_view(facts.path));
    put_text(bytes_, shown(facts.sites_off));
}

void NameWriter::text(uint32_t process, uint32_t id, std::string_view text) {
    begin(Name::text, process, id);
    put_text(bytes_, shown(text));
}

void NameWriter::item(uint32_t process, uint32_t id, Name what, std::string_view bytes) {
    begin(what, process, id);
    put_text(bytes_, bytes);
}

void NameWriter::stack(uint32_t process, uint32_t id, const SitePath& path) {
    begin(Name::stack, process, id);
    put_varint(bytes_, path.is_other ? 1 : 0);
    put_varint(bytes_, path.nodes.size());
    for (const SiteNode& node : path.nodes) {
        put_varint(bytes_, static_cast<uint64_t>(node.kind));
        put_varint(bytes_, node.line);
        put_text(bytes_, node.name);
        put_text(bytes_, shown_file(process, node.file));
    }
}

void NameWriter::threads(uint32_t process, const std::vector<uint32_t>& threads) {
    begin(Name::threads, process, static_cast<uint32_t>(threads.size()));
    for (const uint32_t thread : threads) put_varint(bytes_, thread);
}

std::string NameWriter::take() {
    std::string bytes;
    bytes.swap(bytes_);
    count_ = 0;
    return bytes;
}

std::string ProcessNames::item(uint32_t id, Item kind) const {
    if (kind == Item::text && is_stack_site(id)) return frames_text(site(id));
    const auto& items = kind == Item::text ? texts : kind == Item::device ? devices : meshes;
    const auto found = items.find(id);
    return found != items.end() ? found->second : std::string();
}

SitePath ProcessNames::site(uint32_t id) const {
    const auto found = stacks.find(id);
    return found != stacks.end() ? found->second : SitePath();
}

bool read_names(std::string_view payload, uint32_t count, std::unordered_map<uint32_t, ProcessNames>& names) {
    Bytes bytes(payload);
    for (; count != 0 && !bytes.has_failed(); --count) {
        const auto what = static_cast<Name>(bytes.byte());
        const auto process = static_cast<uint32_t>(bytes.varint());
        const auto id = static_cast<uint32_t>(bytes.varint());
        if (bytes.has_failed()) return false;
        ProcessNames& its = names[process];
        switch (what) {
            case Name::process:
                its.facts = facts_from(bytes);
                break;
            case Name::text:
                its.texts[id] = bytes.text();
                break;
            case Name::device:
                its.devices[id] = bytes.text();
                break;
            case Name::mesh:
                its.meshes[id] = bytes.text();
                break;
            case Name::stack:
                its.stacks[id] = path_from(bytes);
                break;
            case Name::threads:
                its.threads.clear();
                for (uint32_t i = 0; i < id && !bytes.has_failed(); ++i)
                    its.threads.push_back(static_cast<uint32_t>(bytes.varint()));
                break;
            default:
                return false;
        }
    }
    return !bytes.has_failed();
}

}  // namespace ttmem::recording
