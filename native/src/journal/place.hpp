// Where journals live and how one comes to be: unnamed, reserved, filled, locked, and only then linked.
//
// No process ever sees a half-made journal, and a full file system refuses tracking instead of killing the host later
// with SIGBUS. The directory is private to its user (0700, owner checked).
#pragma once

#include <cstddef>
#include <cstdint>

#include "journal/directories.hpp"
#include "journal/layout.hpp"

namespace ttmem {

/// A new journal before it is named: mapped for writing, identity filled in, not yet visible to anyone.
struct NewJournal {
    int directory = -1;
    int file = -1;
    void* base = nullptr;
    uint64_t bytes = 0, reserved_bytes = 0;  // in all; before its holes
    bool has_dot_name = false;
    uint64_t device = 0, inode = 0;
    char name[80] = {};
    char path[kPathRoom] = {};
    bool is_in_default_place = false;
    bool is_too_large = false;            // a smaller one might have had room
    char message[kPathRoom + 1024] = {};  // one sentence when it failed, or when it had to go elsewhere; else empty
};

/// Makes the unnamed file in the first place that can be used and has room (directories.hpp).
bool begin_journal(const char* asked_directory, Sizes sizes, NewJournal& journal) noexcept;

/// Takes the lock that says alive and gives the file its name. On failure everything is undone.
bool name_journal(NewJournal& journal) noexcept;

/// Undoes begin_journal.
void abandon_journal(NewJournal& journal) noexcept;

}  // namespace ttmem
