// The file of another process's journal, open or not.
//
// A process has a limited number of descriptors. JournalFiles keeps as many journals open as a share of its limit allows; every
// other one is opened when it is read, and closed when the next of them is.
//
//   kept      stays open
//   visited   open because it was read last; at most one
//   closed    all others
//
// A file that is opened again is the same one: device, inode and the identity in its header are compared. All of this is
// guarded by the lock of the collector it belongs to.
#pragma once

#include <string>
#include <vector>

#include "journal/layout.hpp"
#include "reader/source.hpp"

namespace ttmem {

class JournalFile;

class JournalFiles {
public:
    JournalFiles() { read_limit(); }

    /// Reads how many descriptors this process may have now. Journals get half of them, two each: the file's and one that
    /// reports its writer's death. The rest is for all others in this process.
    void read_limit();
    bool has_room() const { return kept_.size() < most_; }
    bool is_over_limit() const { return kept_.size() > most_; }

    void keep(JournalFile& file);
    void release(JournalFile& file);

private:
    friend class JournalFile;
    bool close_one();
    void visit(JournalFile& file);
    void forget(JournalFile& file);

    size_t most_ = 1;
    std::vector<JournalFile*> kept_;
    JournalFile* visited_ = nullptr;
};

enum class Reach { open, later, gone };

/// A file by a process's descriptor, /proc/PID/fd/N: a link that only the kernel makes. Other links are never followed.
bool is_descriptor(const std::string& path);

class JournalFile final : public Source {
public:
    JournalFile(JournalFiles& files, std::string path, uint64_t device, uint64_t inode)
        : files_(files), path_(std::move(path)), device_(device), inode_(inode) {}
    ~JournalFile() override;

    /// Opens the file if it is not. `later`: no descriptor is free; `gone`: it is not there, or not the same any more.
    Reach reach();
    /// After `gone`: what is wrong with it; empty if it went away or was replaced.
    const std::string& trouble() const { return trouble_; }

    /// What its header must say whenever it is opened again.
    void expect(const Identity& identity) { nonce_ = {identity.pid, identity.start_ticks, identity.nonce}; }
    /// Another way to the same file.
    void move_to(const std::string& path) { path_ = path; }

    bool is_kept() const { return is_held_open_; }
    uint64_t device() const { return device_; }
    uint64_t inode() const { return inode_; }
    /// The open descriptor, or -1.
    int file() const { return file_; }
    /// As of the last opening.
    uid_t owner() const { return owner_; }
    uint64_t bytes() const { return bytes_; }

    bool copy(uint64_t offset, void* to, size_t bytes) const noexcept override;

private:
    friend class JournalFiles;
    struct Nonce {
        uint64_t pid = 0, start_ticks = 0, nonce = 0;
        bool operator==(const Nonce&) const = default;
    };
    Reach open_now();
    bool is_same(int opened);
    void close_now();

    JournalFiles& files_;
    std::string path_, trouble_;
    uint64_t device_, inode_, bytes_ = 0;
    Nonce nonce_;
    uid_t owner_ = static_cast<uid_t>(-1);
    int file_ = -1;
    bool is_held_open_ = false;
};

}  // namespace ttmem
