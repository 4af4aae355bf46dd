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
    Memory* all = TTMEM_ON ? memory() : nullptr;
    Manager* found = all == nullptr ? nullptr : all->managers.find(word_of(self));
    if (found != nullptr) last_manager = found;
    return found;
}

// A known ring is followed even while nothing is reported: what is told of it later is true.
[[gnu::always_inline]] inline Manager* last_manager_if(const void* self) noexcept {
    Manager* last = last_manager;
    return __builtin_expect(last != nullptr && last->self == self, 1) ? last : nullptr;
}

[[gnu::always_inline]] inline Manager* find_manager(const void* self) noexcept {
    Manager* last = last_manager_if(self);
    return __builtin_expect(last != nullptr, 1) ? last : look_for_manager(self);
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

bool is_of_cores(const Manager& manager, uint32_t lane) noexcept { return (manager.core_lanes >> lane & 1) != 0; }

uint8_t core_type_of(uint32_t lane) noexcept {
    return lane + 1 < TTMEM_CORE_TYPE_COUNT ? static_cast<uint8_t>(lane + 1) : uint8_t{TTMEM_CORE_UNKNOWN};
}

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

// Aside: it changed, but the launch that is told of took no room there.
[[gnu::noinline, gnu::hot]] void report_lane(Manager& manager, uint32_t place, uint8_t stall, bool is_aside) noexcept {
    Lane& lane = manager.lanes[place];
    const bool is_news = lane.is_news();
    const uint16_t target = manager.mesh->target.load(std::memory_order_acquire);
    if (target == 0 || (is_aside && !is_news)) return;
    const uint8_t core_type = core_type_of(place);
    if (has_journal())
        return note_ring(lane.live(), lane.retired(), lane.size(), lane.entry_count(),
                         RingMove::of(target, core_type, stall, is_aside));
    const ttmem_ring_state state{lane.live(), lane.retired(), lane.size(), lane.entry_count(),
                                 target,      core_type,      stall,       is_aside};
    ttmem_ring(&state);
}

[[gnu::noinline]] void report_lanes(Manager& manager, uint32_t left, uint32_t used) noexcept {
    uint8_t stall = manager.stall;
    for (; left != 0; left &= left - 1) {
        const auto place = static_cast<uint32_t>(__builtin_ctz(left));
        const bool is_used = (used >> place & 1) != 0;
        report_lane(manager, place, is_used ? stall : uint8_t{TTMEM_STALL_NONE}, !is_used);
        if (is_used) stall = TTMEM_STALL_NONE;
    }
}

// The rings that a launch used, and those that changed because it waited for others; its wait only once.
[[gnu::noinline, gnu::hot]] void report(Manager& manager, uint32_t used) noexcept {
    if (__builtin_expect(!is_on_open_mesh(manager), 0) && !settle_anew(manager)) return;
    const uint32_t left = manager.changed & manager.core_lanes;
    manager.changed = 0;
    if (__builtin_expect(left == used && (left & (left - 1)) == 0 && left != 0, 1))
        return report_lane(manager, static_cast<uint32_t>(__builtin_ctz(left)), manager.stall, false);
    report_lanes(manager, left, used);
}

// ---- what the runtime does

void note_lane(const void* self, uint32_t base, uint32_t size) noexcept {
    Manager* manager = add_manager(self);
    if (manager == nullptr) return;
    const bool is_round_again =
        manager->lane_count > kLaunchLanes && manager->lanes[0].base() == base && manager->lanes[0].size() == size;
    if (manager->is_in_use || manager->places != nullptr || is_round_again || manager->lane_count == kLanesMost) {
        manager->is_in_use = false;
        manager->freed_below = 0;
        manager->places = nullptr;
        manager->stall = TTMEM_STALL_NONE;
        manager->lane_count = manager->held = 0;
    }
    manager->self = self;
    Stretch* intact = size > kSlotsMost ? manager->intact[manager->lane_count] : nullptr;
    manager->changed |= 1u << manager->lane_count;
    manager->lanes[manager->lane_count++].begin(base, size, intact);
    manager->core_lanes = manager->lane_count > kLaunchLanes ? (1u << (manager->lane_count - kLaunchLanes)) - 1 : 0;
    if (manager->lane_count == 1) worker_ring_bytes.store(size, std::memory_order_relaxed);
}

// Why a launch of that size waits for a lane. Who is finished is found out when somebody looks.
LaneStall stall_of(Manager& manager, uint32_t place, uint32_t size) noexcept {
    Lane& lane = manager.lanes[place];
    const bool is_of_core = is_of_cores(manager, place);
    if (lane.retire_below(manager.freed_below)) manager.changed |= 1u << place;
    if (core_type_of(place) == TTMEM_ACTIVE_ETH && is_of_core) return lane.stall_at_base(size);
    LaneStall stall = lane.stall_of(size);
    const bool is_short = stall.reason == TTMEM_STALL_SPACE || stall.reason == TTMEM_STALL_ENTRIES;
    if (!is_of_core && is_short) stall.reason = TTMEM_STALL_LAUNCH_SLOTS;
    return stall;
}

// The lane that asks for the highest count is the one that is waited for; core types come before launch messages.
// The runtime answers with that count: whoever comes first with it need not be compared with the others.
uint8_t reason_of(Manager& manager, const Sizes& sizes, uint32_t answered) noexcept {
    LaneStall worst{};
    for (uint32_t i = 0; i < manager.lane_count && sizes.begin + i < sizes.end; ++i) {
        if (sizes.begin[i] == 0) continue;
        const LaneStall stall = stall_of(manager, i, sizes.begin[i]);
        if (stall.reason == TTMEM_STALL_NONE) continue;
        if (__builtin_expect(stall.sync_count == answered, 1)) return stall.reason;
        if (worst.reason == TTMEM_STALL_NONE || stall.sync_count > worst.sync_count) worst = stall;
    }
    return worst.reason == TTMEM_STALL_NONE ? uint8_t{TTMEM_STALL_SPACE} : worst.reason;
}

// Hands the answer on: whoever asks need not keep it meanwhile.
[[gnu::noinline, gnu::hot]] ttmem_result note_stall(Manager& manager, const void* sizes, ttmem_result answer) noexcept {
    manager.stall = reason_of(manager, *static_cast<const Sizes*>(sizes), static_cast<uint32_t>(answer.low >> 32));
    return answer;
}

[[gnu::always_inline]] inline ttmem_result note_reserved(Manager& manager, const void* sizes,
                                                         ttmem_result answer) noexcept {
    manager.places = reinterpret_cast<const void*>(answer.high);
    const bool is_stalled = (answer.low & 0xff) != 0;
    return is_stalled && manager.stall == TTMEM_STALL_NONE ? note_stall(manager, sizes, answer) : answer;
}

[[gnu::noinline]] ttmem_result note_reserved_elsewhere(const void* self, const void* sizes,
                                                       ttmem_result answer) noexcept {
    Manager* manager = find_manager(self);
    return manager == nullptr ? answer : note_reserved(*manager, sizes, answer);
}

// A launch frees, then takes: what is free by now is found out together with what is taken.
[[gnu::always_inline]] inline void note_freed(Manager& manager, uint32_t sync_count) noexcept {
    // Nobody needed the room: it waits because its binaries are still on their way.
    if (manager.places != nullptr && manager.stall == TTMEM_STALL_NONE) manager.stall = TTMEM_STALL_IN_FLIGHT;
    if (manager.freed_below <= sync_count) manager.freed_below = uint64_t{sync_count} + 1;
}

// The counts begin anew, or this launch has none of its own: whoever is finished must go before it comes.
[[gnu::noinline, gnu::cold]] void retire_freed(Manager& manager) noexcept {
    for (uint32_t i = 0; i < manager.lane_count; ++i)
        if (manager.lanes[i].retire_below(manager.freed_below)) manager.changed |= 1u << i;
    manager.freed_below = 0;
}

// A lane that the launch does not want.
[[gnu::noinline]] void retire_aside(Manager& manager, Lane& lane, uint32_t bit) noexcept {
    if (lane.retire_below(manager.freed_below)) manager.changed |= bit;
    if (lane.entry_count() == 0) manager.held &= ~bit;
}

// Which lanes of core types the launch used. Those that nobody is in and nobody wants are passed over.
[[gnu::always_inline]] inline uint32_t take_places(Manager& manager, const ReservedPlaces& places,
                                                   uint32_t sync_count) noexcept {
    uint32_t used = 0, bit = 1;
    if (__builtin_expect(sync_count < manager.freed_below, 0)) retire_freed(manager);
    const ReservedPlace* place = places.begin;
    const auto told_count = static_cast<uint32_t>(places.end - place);  // one for each lane
    const uint32_t count = told_count < manager.lane_count ? told_count : manager.lane_count;
    for (Lane *lane = manager.lanes, *end = lane + count; lane != end; ++lane, ++place, bit <<= 1) {
        if (place->size == 0) {
            if (__builtin_expect((manager.held & bit) != 0, 0)) retire_aside(manager, *lane, bit);
        } else if ((manager.core_lanes & bit) != 0) {
            lane->go_on(manager.freed_below, {place->address, place->size}, sync_count);
            used |= bit;
        } else {
            lane->add({place->address, place->size}, sync_count);
        }
    }
    manager.held |= used;
    manager.changed |= used;
    return used;
}

[[gnu::always_inline]] inline void note_taken(Manager& manager, uint32_t sync_count) noexcept {
    const Workload* workload = context().enqueued;
    if (workload != nullptr && workload->is_told && workload->status == TTMEM_IN_FLIGHT)
        manager.stall = TTMEM_STALL_IN_FLIGHT;
    if (manager.places == nullptr) return;
    const uint32_t used = take_places(manager, *static_cast<const ReservedPlaces*>(manager.places), sync_count);
    report(manager, used);
    manager.is_in_use = true;
    manager.places = nullptr;
    manager.stall = TTMEM_STALL_NONE;
}

void note_filled(Manager& manager, uint32_t sync_count) noexcept {
    manager.is_in_use = true;
    manager.freed_below = 0;
    for (uint32_t i = 0; i < manager.lane_count; ++i) manager.lanes[i].fill(sync_count);
    manager.changed = manager.held = manager.core_lanes;
    report(manager, 0);
}

[[gnu::noinline]] void free_elsewhere(void* self, uint32_t sync_count, const void* caller) {
    void* real = original_from(Hook::ring_free, caller);
    if (Manager* manager = find_manager(self)) note_freed(*manager, sync_count);
    reinterpret_cast<void (*)(void*, uint32_t)>(real)(self, sync_count);
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

TTMEM_INTERPOSE_HOT(ring_reserve, ttmem_result, (void* self, const void* sizes)) {
    auto* real = ttmem::hook::original_as<ttmem_result(void*, const void*)>(Hook::ring_reserve);
    const ttmem_result answer = real(self, sizes);
    auto* manager = ttmem::hook::last_manager_if(self);
    return __builtin_expect(manager != nullptr, 1) ? ttmem::hook::note_reserved(*manager, sizes, answer)
                                                   : ttmem::hook::note_reserved_elsewhere(self, sizes, answer);
}

TTMEM_INTERPOSE_HOT(ring_free, void, (void* self, uint32_t sync_count)) {
    const void* caller = __builtin_return_address(0);
    auto* manager = ttmem::hook::last_manager_if(self);
    if (manager == nullptr || !ttmem::hook::is_usual(caller))
        return ttmem::hook::free_elsewhere(self, sync_count, caller);
    ttmem::hook::note_freed(*manager, sync_count);
    ttmem::hook::original_in<void(void*, uint32_t)>(ttmem::hook::usual_copy(), Hook::ring_free)(self, sync_count);
}

TTMEM_INTERPOSE_HOT(ring_take, void, (void* self, uint32_t sync_count)) {
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
