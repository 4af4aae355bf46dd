// What the native tests make of the points marked in the writer: yield there at random, or park a thread at one.
//
// The tested writer is compiled with this file included before everything else.
#pragma once

#include <atomic>

namespace ttmem::steps {

enum Step : int {
    nowhere,
    sequence_taken,
    index_slot_read,
    index_slot_chosen,
    free_head_seen,
    free_link_written,
    entry_half_written,
    entry_committed,
    entry_indexed,
    charged,
    life_ended,
    entry_given,
    slot_seen,
    slot_claimed,
    slot_half_written,
    twin_found,
    incident_counted,
    incident_claimed,
    incident_half_written,
    incident_copied,
    entry_copied,
    site_read,
    site_changed,
};

using Hook = void (*)(Step) noexcept;
inline std::atomic<Hook> hook{nullptr};

inline void reach(Step step) noexcept {
    const Hook act = hook.load(std::memory_order_acquire);
    if (act != nullptr) act(step);
}

}  // namespace ttmem::steps

#define TTMEM_TEST_YIELD(step) ::ttmem::steps::reach(::ttmem::steps::step)
