// Kernel rings: what each launch reserves there, what is still live, and why a launch had to wait.
//
// For a launch the runtime asks reserve() for places, as often as it takes, retires finished launches with free(), and takes
// the places with alloc(). So a launch is what alloc() ends. A replayed trace fills the ring; the beginning of a capture
// fills it too, but is undone at its end, and is left out here.
#include "hook/launches/ring.hpp"

#include "hook/programs/memory.hpp"
#include "hook/runtime.hpp"
#include "writer/operations.hpp"

namespace ttmem::hook {
namespace {

std::atomic<uint32_t> worker_ring_bytes{0};

// A place as reserve() tells it, and its std::vector.
struct ReservedPlace {
    uint32_t address, size, sync_count;
};
struct ReservedPlaces {
    const ReservedPlace *begin, *end;
};
struct Sizes {
    const uint32_t *begin, *end;
};

// Launches follow each other on the same queue.
thread_local __attribute__((tls_model("initial-exec"))) Manager* last_manager;

[[gnu::noinline]] Manager* look_for_manager(const void* self) noexcept {
    Memory* all = memory();
    Manager* found = all == nullptr ? nullptr : all->managers.find(word_of(self));
    if (found != nullptr) last_manager = found;
    return found;
}

[[gnu::always_inline]] inline Manager* find_manager(const void* self) noexcept {
    if (!TTMEM_ON) return nullptr;
    Manager* last = last_manager;
    if (__builtin_expect(last != nullptr && last->self == self, 1)) return last;
    return look_for_manager(self);
}

bool is_on_open_mesh(const Manager& manager) noexcept {
    return manager.mesh != nullptr && manager.mesh->is_open.load(std::memory_order_acquire) &&
           manager.mesh->number.load(std::memory_order_acquire) == manager.mesh_number;
}

// Queues come and go with their meshes, and nobody says when: room is made when it is needed.
Manager* add_manager(const void* self) noexcept {
    Memory* all = memory();
    if (all == nullptr) return nullptr;
    if (Manager* found = all->managers.find_or_add(word_of(self))) return found;
    all->managers.each([all](Manager& manager) noexcept {
        if (!is_on_open_mesh(manager)) all->managers.remove(&manager);
    });
    return all->managers.add(word_of(self));
}

uint32_t core_lanes(const Manager& manager) noexcept {
    return manager.lane_count > kLaunchLanes ? manager.lane_count - kLaunchLanes : 0;
}

uint8_t core_type_of(uint32_t lane) noexcept {
    return lane + 1 < TTMEM_CORE_TYPE_COUNT ? static_cast<uint8_t>(lane + 1) : uint8_t{TTMEM_CORE_UNKNOWN};
}

uint64_t told_of(const Lane& lane) noexcept { return lane.live() << 32 | lane.retired(); }

// ---- reports

[[gnu::noinline]] bool settle_anew(Manager& manager) noexcept {
    const Mesh* mesh = context().mesh;
    if (Workload* workload = context().enqueued)
        if (hook::settle(*workload)) mesh = workload->mesh;
    if (mesh == nullptr) return false;
    manager.mesh = mesh;
    manager.mesh_number = mesh->number.load(std::memory_order_acquire);
    return is_on_open_mesh(manager);
}

void report_lane(Manager& manager, uint32_t place, uint8_t stall, bool is_aside) noexcept {
    const Lane& lane = manager.lanes[place];
    manager.told[place] = told_of(lane);
    ttmem_ring_state state;
    state.live_bytes = lane.live();
    state.retired_bytes = lane.retired();
    state.ring_bytes = lane.size();
    state.entry_count = lane.entry_count();
    state.target = manager.mesh->target.load(std::memory_order_acquire);
    state.core_type = core_type_of(place);
    state.stall = stall;
    state.is_aside = is_aside;
    if (state.target == 0) return;
    if (has_journal()) return note_ring(state);
    ttmem_ring(&state);
}

// The rings that a launch used, and those that changed because it waited for others; its wait only once.
void report(Manager& manager, uint32_t used) noexcept {
    if (__builtin_expect(!is_on_open_mesh(manager), 0) && !settle_anew(manager)) return;
    uint8_t stall = manager.stall;
    uint32_t left = manager.changed & ((1u << core_lanes(manager)) - 1);
    manager.changed = 0;
    for (; left != 0; left &= left - 1) {
        const auto place = static_cast<uint32_t>(__builtin_ctz(left));
        const bool is_used = (used >> place & 1) != 0;
        if (!is_used && told_of(manager.lanes[place]) == manager.told[place]) continue;
        report_lane(manager, place, is_used ? stall : uint8_t{TTMEM_STALL_NONE}, !is_used);
        if (is_used) stall = TTMEM_STALL_NONE;
    }
}

// ---- what the runtime does

void note_lane(const void* self, uint32_t base, uint32_t size) noexcept {
    Manager* manager = add_manager(self);
    if (manager == nullptr) return;
    const bool is_round_again =
        manager->lane_count > kLaunchLanes && manager->lanes[0].base() == base && manager->lanes[0].size() == size;
    if (manager->is_in_use || is_round_again || manager->lane_count == kLanesMost) {
        manager->is_in_use = manager->has_reserved = false;
        manager->stall = TTMEM_STALL_NONE;
        manager->lane_count = 0;
    }
    manager->self = self;
    Stretch* intact = size > kSlotsMost ? manager->intact[manager->lane_count] : nullptr;
    manager->changed |= 1u << manager->lane_count;
    manager->lanes[manager->lane_count++].begin(base, size, intact);
    if (manager->lane_count == 1) worker_ring_bytes.store(size, std::memory_order_relaxed);
}

// The lane that asks for the highest count is the one that is waited for; core types come before launch messages.
// The runtime answers with that count: whoever comes first with it need not be compared with the others.
[[gnu::noinline]] uint8_t reason_of(const Manager& manager, const Sizes& sizes, uint32_t answered) noexcept {
    LaneStall worst{};
    for (uint32_t i = 0; i < manager.lane_count && sizes.begin + i < sizes.end; ++i) {
        if (sizes.begin[i] == 0) continue;
        const bool is_at_base = core_type_of(i) == TTMEM_ACTIVE_ETH && i < core_lanes(manager);
        const Lane& lane = manager.lanes[i];
        LaneStall stall = is_at_base ? lane.stall_at_base(sizes.begin[i]) : lane.stall_of(sizes.begin[i]);
        const bool is_short = stall.reason == TTMEM_STALL_SPACE || stall.reason == TTMEM_STALL_ENTRIES;
        if (i >= core_lanes(manager) && is_short) stall.reason = TTMEM_STALL_LAUNCH_SLOTS;
        if (stall.reason != TTMEM_STALL_NONE &&
            (worst.reason == TTMEM_STALL_NONE || stall.sync_count > worst.sync_count))
            worst = stall;
        if (stall.reason != TTMEM_STALL_NONE && stall.sync_count == answered) break;
    }
    return worst.reason == TTMEM_STALL_NONE ? uint8_t{TTMEM_STALL_SPACE} : worst.reason;
}

void note_reserved(Manager& manager, const Sizes& sizes, const ttmem_result& answer) noexcept {
    const bool is_stalled = (answer.low & 0xff) != 0;
    if (is_stalled && manager.stall == TTMEM_STALL_NONE)
        manager.stall = reason_of(manager, sizes, static_cast<uint32_t>(answer.low >> 32));
    manager.is_in_use = manager.has_reserved = true;
    manager.places = reinterpret_cast<const void*>(answer.high);
}

void note_freed(Manager& manager, uint32_t sync_count) noexcept {
    // Nobody needed the room: it waits because its binaries are still on their way.
    if (manager.has_reserved && manager.stall == TTMEM_STALL_NONE) manager.stall = TTMEM_STALL_IN_FLIGHT;
    uint32_t changed = 0, bit = 1;
    for (Lane *lane = manager.lanes, *end = lane + manager.lane_count; lane != end; ++lane, bit <<= 1)
        if (lane->retire(sync_count)) changed |= bit;
    manager.changed |= changed;
}

void note_taken(Manager& manager, uint32_t sync_count) noexcept {
    const Workload* workload = context().enqueued;
    if (workload != nullptr && workload->is_told && workload->status == TTMEM_IN_FLIGHT)
        manager.stall = TTMEM_STALL_IN_FLIGHT;
    if (!manager.has_reserved) return;
    const auto& places = *static_cast<const ReservedPlaces*>(manager.places);
    uint32_t used = 0, bit = 1;
    const ReservedPlace* place = places.begin;
    for (Lane *lane = manager.lanes, *end = lane + manager.lane_count; lane != end && place < places.end;
         ++lane, ++place, bit <<= 1) {
        if (place->size == 0) continue;
        lane->take({place->address, place->size}, sync_count);
        used |= bit;
    }
    manager.changed |= used;
    report(manager, used);
    manager.stall = TTMEM_STALL_NONE;
    manager.has_reserved = false;
}

void note_filled(Manager& manager, uint32_t sync_count) noexcept {
    manager.is_in_use = true;
    for (uint32_t i = 0; i < manager.lane_count; ++i) manager.lanes[i].fill(sync_count);
    manager.changed = ~0u;
    report(manager, 0);
}

}  // namespace

uint32_t kernel_ring_bytes() noexcept { return worker_ring_bytes.load(std::memory_order_relaxed); }

}  // namespace ttmem::hook

using ttmem::hook::Hook;

TTMEM_INTERPOSE(ring_add_lane, void, (void* self, uint32_t base, uint32_t size)) {
    auto* real = ttmem::hook::original_as<void(void*, uint32_t, uint32_t)>(Hook::ring_add_lane);
    if (TTMEM_ON) ttmem::hook::note_lane(self, base, size);
    real(self, base, size);
}

TTMEM_INTERPOSE(ring_reserve, ttmem_result, (void* self, const void* sizes)) {
    auto* real = ttmem::hook::original_as<ttmem_result(void*, const void*)>(Hook::ring_reserve);
    const ttmem_result answer = real(self, sizes);
    if (auto* manager = ttmem::hook::find_manager(self))
        ttmem::hook::note_reserved(*manager, *static_cast<const ttmem::hook::Sizes*>(sizes), answer);
    return answer;
}

TTMEM_INTERPOSE(ring_free, void, (void* self, uint32_t sync_count)) {
    auto* real = ttmem::hook::original_as<void(void*, uint32_t)>(Hook::ring_free);
    if (auto* manager = ttmem::hook::find_manager(self)) ttmem::hook::note_freed(*manager, sync_count);
    real(self, sync_count);
}

TTMEM_INTERPOSE(ring_take, void, (void* self, uint32_t sync_count)) {
    auto* real = ttmem::hook::original_as<void(void*, uint32_t)>(Hook::ring_take);
    if (auto* manager = ttmem::hook::find_manager(self)) ttmem::hook::note_taken(*manager, sync_count);
    real(self, sync_count);
}

TTMEM_INTERPOSE(ring_fill, void, (void* self, uint32_t sync_count)) {
    auto* real = ttmem::hook::original_as<void(void*, uint32_t)>(Hook::ring_fill);
    if (!ttmem::hook::context().is_beginning_trace)
        if (auto* manager = ttmem::hook::find_manager(self)) ttmem::hook::note_filled(*manager, sync_count);
    real(self, sync_count);
}
