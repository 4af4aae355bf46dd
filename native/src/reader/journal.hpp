// Reading one journal: a place in its ring, and the way back to exactness when that place was lost.
//
// read() follows the ring. A slot counts only if it was committed before its words were copied and no process could have
// begun to overwrite it afterwards (the head says). Slots whose call has not returned go on a pending list and are
// looked at again, so one stopped thread never holds up the others. scan() starts over from the live state: late
// arrival, being lapped, or `skipped` having moved. Every offset was checked against the file once, when it was attached;
// whatever else the file says is taken as data.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "journal/layout.hpp"
#include "reader/incidents.hpp"
#include "reader/source.hpp"
#include "reader/stacks.hpp"

namespace ttmem {

/// The hot words of a header, copied at one look.
struct Hot {
    uint64_t head = 0, slab_high = 0;
    uint64_t skipped = 0, untabled_allocs = 0, untabled_frees = 0, unsized_frees = 0, unmatched_frees = 0, replaced = 0;
    uint64_t clamped = 0, shrunk_kernels = 0, arena_used = 0, arena_refused = 0, phases_refused = 0,
             targets_refused = 0, unreported = 0, undivided_l1 = 0, unjudged = 0;
    uint64_t incidents = 0, incident_counts[kIncidentKinds][kPools] = {};
    uint64_t stack_nodes_used = 0, stack_texts_used = 0, stacks_refused = 0;
    uint32_t label = 0, threads = 0;
    uint32_t sites_off = 0;  // a text: why Python stacks are not recorded

    bool operator==(const Hot&) const = default;
};

/// What goes on on a target besides memory changing hands: its words as they stand in the journal.
struct Activity {
    struct Cache {
        uint64_t outcomes[kOutcomes], entries, held, shared;
    } caches[kCaches];
    struct Ring {
        uint64_t live, retired, entries, launches, total;
    } rings[kCoreTypes];
    uint64_t stalls[kStalls];
};
static_assert(offsetof(Activity, rings) == offsetof(Target, rings) - offsetof(Target, caches) &&
              offsetof(Activity, stalls) == offsetof(Target, stalls) - offsetof(Target, caches));

/// The counters of one target, copied.
struct TargetCounters {
    uint32_t state = 0, descriptor = 0;
    uint64_t unique_id = 0, closed_sequence = 0, launches = 0, clashes = 0, refusals = 0;
    struct {
        uint64_t used, count;
    } kinds[kKinds] = {};
    struct {
        uint64_t used, peak, peak_time, allocs, frees, totals[kPoolTotalWords];
    } pools[kPools] = {};
    Activity activity{};
};

inline constexpr size_t kPendingMost = 4096;

enum class ReadResult { ok, lost_place, damaged };

class JournalReader {
public:
    /// Checks the header of an open journal. On failure `error` says what was expected, found, and what to do.
    static std::unique_ptr<JournalReader> open(std::unique_ptr<Source> source, uint64_t file_bytes, std::string& error);

    const Identity& identity() const { return identity_; }
    uint64_t position() const { return position_; }
    const std::vector<uint64_t>& pending() const { return pending_; }
    bool is_pending(uint64_t sequence) const;

    bool look(Hot& hot) const;
    /// What the last read() saw after its copies.
    const Hot& last_look() const { return last_look_; }

    /// Appends committed records in order of sequence, at most about `most`.
    ReadResult read(std::vector<RecordCopy>& events, size_t most);

    /// Reads what is alive now and moves to a place from which read() will make it exact: at `settled_at()` it is.
    ReadResult scan(std::vector<RecordCopy>& alive);
    uint64_t settled_at() const { return settled_at_; }
    /// Records below the place a scan goes on from that may end lives whose beginning is still pending.
    const std::vector<RecordCopy>& ended_early() const { return ended_early_; }
    /// Records below that place which reported a refusal, and which no process had read before: as far as the ring has them.
    const std::vector<RecordCopy>& refused_before() const { return refused_before_; }

    /// A dead writer finishes nothing: forgets the calls that never returned.
    void drop_pending() { pending_.clear(); }

    /// Starts at the journal's first record instead of scanning; possible while nothing was overwritten yet.
    bool start_at_beginning();

    /// The counters of the first `count` targets.
    bool targets(std::vector<TargetCounters>& targets, uint32_t count) const;
    /// Those of one of them.
    bool target(TargetCounters& to, uint32_t number) const;
    bool phase_rows(std::vector<uint64_t>& words) const;
    /// False: there are none yet. Rows are taken from the first on.
    bool has_phases() const;
    /// The kernel's number of each thread that reported, by its number in records; empty if they cannot be read.
    std::vector<uint32_t> threads() const;
    /// The heads of the incidents that are kept, oldest first, and how many there were. What its writer did not finish, or
    /// what makes no sense, is not among them.
    bool incidents(std::vector<IncidentHead>& heads, uint64_t& count) const;
    /// What was alive at one of them; false if a later one has taken its place.
    bool incident_copy(const IncidentHead& head, std::vector<RecordCopy>& entries) const;
    /// A text or descriptor of the arena; empty when the id leads nowhere. The text of a site that is a node: its frames.
    std::string item(uint32_t id, Item kind) const;
    /// What a site says, if it is a node.
    SitePath site(uint32_t site) const { return stacks_.path(*source_, identity_, site); }
    std::string arena() const;

private:
    JournalReader(std::unique_ptr<Source> source, const Identity& identity);
    bool copy_slots(uint64_t first, size_t count, std::vector<RecordCopy>& to) const;
    ReadResult revisit_pending(std::vector<RecordCopy>& events);
    bool find_open_slots(uint64_t end, std::vector<uint64_t>& open);
    bool find_refused_before(const std::vector<uint64_t>& open);
    bool find_ended_early(uint64_t end, const std::vector<uint64_t>& open);
    bool wait_for_open_slots(std::vector<uint64_t>& open);
    bool scan_slab(uint64_t high, std::vector<RecordCopy>& alive) const;

    std::unique_ptr<Source> source_;
    Identity identity_;
    Hot last_look_;
    uint64_t position_ = 0;
    uint64_t settled_at_ = 0;
    uint64_t skipped_seen_ = 0;
    std::vector<uint64_t> pending_;
    std::vector<RecordCopy> ended_early_, refused_before_;
    std::vector<uint64_t> refusals_seen_;  // sequences of such records, as a scan goes through the ring
    mutable StackReader stacks_;
    mutable std::vector<RecordCopy> before_, after_;  // copies of a batch, kept to avoid allocating
};

}  // namespace ttmem
