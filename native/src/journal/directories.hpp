// The directories in which a journal may go, and which of them can be used.
//
// A directory that was named (by the caller, or $TTMEM_DIR) is the only one. Else these are tried in turn:
//
//   /dev/shm/ttmem-<uid>            any user may have made it before us: then it is passed over
//   $XDG_RUNTIME_DIR/ttmem          if that directory is this user's own
//   /run/user/<uid>/ttmem           the same where the environment does not name it
//   /dev/shm/ttmem-<uid>.<random>   the one of this user that is there, else a new one: no other user can make it before us
//
// Viewers look into all of them (src/ttmem/sources/directories.py); tests/scenario/journals/test_places.py compares the two.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ttmem {

inline constexpr size_t kPathRoom = 512;

/// What was wrong with a place, and what to do about it. Of several only the first is kept: it is the one that was meant.
struct Trouble {
    char what[kPathRoom + 192] = {};
    const char* next_step = "";
    bool is_noteworthy = false;  // also when another place could be used
    bool is_set() const noexcept { return what[0] != '\0'; }
};

/// Goes through the places of a user's journals.
class Directories {
public:
    /// `asked` null: what the environment says. Empty: the default places, whatever the environment says.
    explicit Directories(const char* asked) noexcept;

    /// The next one that can be used, opened, its path in `path`; -1 when there is none any more.
    int open_next(char (&path)[kPathRoom], Trouble& trouble) noexcept;

    /// That file system is full: other places on it are passed over.
    void pass_over_device_of(int directory) noexcept;

    /// Whether these are the default places, not one that a process named.
    bool is_default() const noexcept { return named_ == nullptr; }

private:
    int open_place(int number, char (&path)[kPathRoom]) noexcept;
    bool is_on_full_device(const char* above) const noexcept;

    const char* named_;
    int next_ = 0;
    uint64_t full_device_ = 0;
};

}  // namespace ttmem
