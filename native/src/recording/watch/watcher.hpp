// What no single moment of a recording says: how full the fullest core of each chip ever was, how low L1 buffers came, how
// much room launches had below them, and how far each pool was ever used.
//
// It listens to the books that a recording is played into. Only the first of what is equal is kept.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ledger/log/listener.hpp"
#include "recording/watch/core_loads.hpp"

namespace ttmem::recording {

/// The fullest core of a chip, and when: behind so many rows that were applied, at a time of the wall.
struct FullestEver {
    uint64_t bytes = 0, rows = 0, time_ns = 0;
    uint32_t core = 0;
    bool has_core = false;
};

/// The lowest L1 buffer ever, and the launch that had least room below the buffers on its cores.
struct LeastRoom {
    uint64_t floor = ~uint64_t{0}, floor_life = 0, floor_process = 0, floor_ns = 0;
    std::optional<int64_t> room;
    uint64_t room_ns = 0, program = 0, program_process = 0, cb_end = 0, lowest = 0, lowest_life = 0;
    bool has_unplaced = false;  // some buffers did not say where they lie
};

/// Between which addresses of a bank a pool was ever used.
struct Extent {
    uint64_t lowest = ~uint64_t{0}, highest = 0;
    uint64_t lowest_ns = 0, highest_ns = 0;
    uint64_t begin = 0, end = 0;  // of the pool; 0: not known
    bool has_unplaced = false;
};

class Watcher final : public Listener {
public:
    explicit Watcher(Collector& collector) : collector_(collector), loads_(collector) {}

    /// Looks whether some core is fuller than any was, behind each row.
    void look(uint64_t rows, uint64_t time_ns);
    void reset(uint64_t process);
    void set_time(uint64_t time_ns) { time_ns_ = time_ns; }
    /// Whether the fullest core is to be found out exactly; until then only what leads to it is kept up. Or one core, which is
    /// said before anything is played.
    void measure(bool is_wanted);
    void set_only(uint32_t core);

    const std::map<uint32_t, FullestEver>& fullest() const { return fullest_; }
    const std::map<uint32_t, LeastRoom>& room() const { return room_; }
    const std::map<std::pair<uint32_t, uint8_t>, Extent>& extents() const { return extents_; }

    void record(uint64_t process, const RecordCopy& words) override;
    void ended(uint64_t process, const RecordCopy& life, uint64_t, uint64_t, bool) override;
    void resized(uint64_t, const RecordCopy&, uint64_t, uint64_t) override {}
    void opened(uint64_t, uint16_t, uint64_t, uint32_t) override {}
    void shared(uint64_t process, bool is_shared) override { is_shared ? reset(process) : forget(process); }
    void lost(uint64_t process) override { forget(process); }
    void balance(uint32_t device, uint8_t pool, int64_t used, bool) override { loads_.balance(0, device, pool, used); }
    void settled(uint64_t process) override { reset(process); }
    void process_ended(uint64_t process) override { forget(process); }

private:
    struct Own {
        uint64_t address, life;
        CoreMask cores;
    };
    /// L1 buffers of a target: of all cores by their address, with the life that lies there; and of single cores.
    struct Buffers {
        std::multimap<uint64_t, uint64_t> lockstep;
        std::vector<Own> own;
    };
    std::optional<FullestCore> now(const Seen& seen, uint32_t device);
    void forget(uint64_t process);
    void add(uint64_t process, const RecordCopy& words);
    void note_extent(const Process& process, const RecordCopy& words);
    void note_floor(uint64_t process, const Process& its, const RecordCopy& words, uint64_t address);
    void note_launch(uint64_t process, const RecordCopy& words);

    Collector& collector_;
    CoreLoads loads_;
    std::optional<uint32_t> only_;
    bool is_measuring_ = false;
    uint64_t time_ns_ = 0;
    std::map<std::pair<uint64_t, uint16_t>, Buffers> buffers_;
    std::map<uint32_t, FullestEver> fullest_;  // by device
    std::map<uint32_t, LeastRoom> room_;
    std::map<std::pair<uint32_t, uint8_t>, Extent> extents_;
};

}  // namespace ttmem::recording
