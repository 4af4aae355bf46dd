// A program with a steady number of live allocations: every turn frees a random one and makes a new one.
//
// The same shape for ttmem (by id, by handle) and for the old design, and once more without any call, so that
// the cost of choosing and remembering can be taken off.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "baseline/client.hpp"
#include "measure/figures.hpp"
#include "ttmem/client.h"

namespace measure {

inline constexpr uint32_t kEventsPerTurn = 2;
inline constexpr uint64_t kBytes = 4096;

/// Opens `chip_count` chips and returns a target: the chip itself, or a mesh of them.
inline uint16_t open_target(uint32_t chip_count) {
    std::vector<uint16_t> chips;
    for (uint32_t i = 0; i < chip_count; ++i) {
        ttmem_device chip{};
        chip.unique_id = 0xbe7c'0000 + chip_count * 256 + i;
        chip.index = static_cast<int32_t>(i);
        chip.grid_x = chip.grid_y = 8;
        chip.arch = "wormhole_b0";
        chips.push_back(ttmem_device_open(&chip));
    }
    const uint16_t target =
        chip_count == 1 ? chips[0]
                        : ttmem_mesh_open(0xbe7c, 4, static_cast<uint16_t>(chip_count / 4), chips.data(), chip_count);
    if (target == 0) throw std::runtime_error("the target could not be opened: is tracking on?");
    return target;
}

struct ById {  // what a caller remembers is the id
    uint16_t target;
    uint64_t allocate(uint64_t id) const {
        const ttmem_buffer buffer{.id = id,
                                  .address = id << 5,
                                  .requested_bytes = kBytes,
                                  .reserved_bytes = kBytes,
                                  .per_bank_bytes = 0,
                                  .site = 0,
                                  .target = target,
                                  .type = TTMEM_BUFFER_DRAM,
                                  .options = 0};
        ttmem_buffer_alloc(&buffer);
        return id;
    }
    void release(uint64_t id) const { ttmem_free_id(target, TTMEM_BUFFER, id, TTMEM_DRAM, kBytes); }
};

struct ByHandle {
    uint16_t target;
    uint64_t allocate(uint64_t id) const {
        const ttmem_buffer buffer{.id = id,
                                  .address = id << 5,
                                  .requested_bytes = kBytes,
                                  .reserved_bytes = kBytes,
                                  .per_bank_bytes = 0,
                                  .site = 0,
                                  .target = target,
                                  .type = TTMEM_BUFFER_DRAM,
                                  .options = TTMEM_BY_HANDLE};
        return ttmem_buffer_alloc(&buffer);
    }
    void release(uint64_t handle) const { ttmem_free(handle); }
};

struct BySend {
    baseline::Client* client;
    uint64_t allocate(uint64_t id) const {
        client->report_alloc(0, id, kBytes, TTMEM_BUFFER_DRAM);
        return id;
    }
    void release(uint64_t id) const { client->report_free(0, id); }
};

struct ByNothing {
    uint64_t allocate(uint64_t id) const {
        keep(id);
        return id;
    }
    void release(uint64_t id) const { keep(id); }
};

template <typename Way>
class LiveSet {
public:
    LiveSet(Way way, uint32_t live_count) : way_(way), names_(live_count) {
        for (uint64_t& name : names_) name = way_.allocate(next_id_++);
    }

    uint32_t choose() {
        random_ = random_ * 6'364'136'223'846'793'005u + 1'442'695'040'888'963'407u;
        return static_cast<uint32_t>((random_ >> 32) * names_.size() >> 32);
    }
    uint64_t name_at(uint32_t slot) const { return names_[slot]; }
    void release(uint64_t name) { way_.release(name); }
    void allocate(uint32_t slot) { names_[slot] = way_.allocate(next_id_++); }

    void turn(uint64_t count) {
        for (uint64_t i = 0; i < count; ++i) {
            const uint32_t slot = choose();
            release(names_[slot]);
            allocate(slot);
        }
    }

private:
    Way way_;
    std::vector<uint64_t> names_;
    uint64_t next_id_ = 1;
    uint64_t random_ = 0x9e37'79b9'7f4a'7c15;
};

/// Net batch means of one event with `live_count` alive.
template <typename Way>
std::vector<double> loop_means_ns(Way way, uint32_t live_count, uint64_t events_per_batch) {
    LiveSet<Way> set(way, live_count);
    LiveSet<ByNothing> nothing(ByNothing{}, live_count);
    return net_batch_means_ns([&](uint64_t turns) { set.turn(turns); }, [&](uint64_t turns) { nothing.turn(turns); },
                              event_count(events_per_batch) / kEventsPerTurn, kEventsPerTurn);
}

/// The old design's cost of one event on the caller's thread, in the same shape.
inline std::vector<double> baseline_loop_means_ns(const std::string& socket_path, uint32_t live_count) {
    baseline::Client client(socket_path);
    return loop_means_ns(BySend{&client}, live_count, 40'000);
}

}  // namespace measure
