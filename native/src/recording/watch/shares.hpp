// What several processes have of one thing, such as a pool of a chip, block by block: how much it can have been at most, whichever
// of them was first.
//
// Who is heard first need not have been first. Within a block, and within earlier ones that reach into its time, each process
// had at most its own highest; the sum of these is never too low. Of one process alone the order is known: nothing is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ttmem::recording {

class Shares {
public:
    /// A process has so much more now, or less. There was `now` before, and in this block `highest`.
    void add(uint64_t process, int64_t by, int64_t now, int64_t highest) {
        if (process != process_ || !shares_.empty()) return add_of_several(process, by, now, highest);
        has_changed_ |= by != 0;
    }
    /// A block of events ends, from its first time to its last, with the highest in the order in which it was heard. Whether
    /// several had changes in this time; then `highest` becomes what there can have been at most.
    /// This holds of all times that are not before the first and before those of all later blocks.
    bool close(uint64_t first_ns, uint64_t last_ns, int64_t& highest);

private:
    /// The highest in a block in which something changed. Of those before, only what is higher than any behind it.
    struct Before {
        uint64_t last_ns;
        int64_t highest;
    };
    struct Share {
        uint64_t process;
        int64_t now, highest;
        bool has_changed;
        std::vector<Before> before;
    };
    void add_of_several(uint64_t process, int64_t by, int64_t now, int64_t highest);
    static void note(std::vector<Before>& before, Before one);

    uint64_t process_ = 0;  // as long as there is one; `shares_` is empty
    bool has_changed_ = false;
    std::vector<Before> before_;
    std::vector<Share> shares_;
    size_t last_ = 0;
};

}  // namespace ttmem::recording
