// What rows name by a number: processes, and of each its texts, descriptors of chips and meshes, stacks and threads. Said once in
// a segment, before the first row that needs it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "journal/names.hpp"
#include "reader/stacks.hpp"
#include "recording/bytes.hpp"

namespace ttmem::recording {

enum class Name : uint8_t { process = 1, text = 2, device = 3, mesh = 4, stack = 5, threads = 6 };

struct ProcessFacts {
    uint64_t key = 0;  // in the ledger that was listened to
    uint32_t pid = 0, uid = 0;
    uint64_t start_ticks = 0, started_ns = 0, pid_namespace = 0;
    bool is_socket = false, is_visible = true, is_shared = true;
    std::string label, command, path, sites_off;

    bool operator==(const ProcessFacts&) const = default;
};

/// Names on their way into a block.
class NameWriter {
public:
    explicit NameWriter(bool is_redacted) : is_redacted_(is_redacted) {}
    void process(uint32_t number, const ProcessFacts& facts);
    void text(uint32_t process, uint32_t id, std::string_view text);
    void item(uint32_t process, uint32_t id, Name what, std::string_view bytes);
    void stack(uint32_t process, uint32_t id, const SitePath& path);
    void threads(uint32_t process, const std::vector<uint32_t>& threads);
    uint32_t count() const { return count_; }
    std::string take();

private:
    void begin(Name what, uint32_t process, uint32_t id);
    std::string shown(std::string_view text) const;
    std::string shown_file(uint32_t process, std::string_view name) const;

    bool is_redacted_;
    std::unordered_map<uint32_t, std::string> commands_;  // by a process's number; only where they are not written
    std::string bytes_;
    uint32_t count_ = 0;
};

/// The same texts without the directories of files.
std::string without_directories(std::string_view text);

/// What a segment has said so far of one process.
struct ProcessNames {
    ProcessFacts facts;
    std::unordered_map<uint32_t, std::string> texts, devices, meshes;
    std::unordered_map<uint32_t, SitePath> stacks;
    std::vector<uint32_t> threads;

    std::string item(uint32_t id, Item kind) const;
    SitePath site(uint32_t id) const;
};

/// Reads names; false if the bytes are none.
bool read_names(std::string_view payload, uint32_t count, std::unordered_map<uint32_t, ProcessNames>& names);

}  // namespace ttmem::recording
