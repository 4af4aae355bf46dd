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
std::atomic<bool> has_rings{false};  // also of those that nobody is told of, tracking being off

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

Manager* make_manager(const void* self) noexcept;

[[gnu::noinline]] Manager* look_for_manager(const void* self) noexcept {
    Memory* all = TTMEM_ON || remembers() ? memory() : nullptr;
    Manager* found = all == nullptr ? nullptr : all->managers.find(word_of(self));
    if (found == nullptr && all != nullptr) found = make_manager(self);
    if (found != nullptr) at_hand.manager = found;
    return found;
}

// Launches follow each other on the same queue. A ring is followed even while nothing is reported: what is told of it later
// is true.
[[gnu::always_inline]] inline Manager* last_manager_if(const void* self) noexcept {
    Manager* last = at_hand.manager;
    return __builtin_expect(last != nullptr && last->self == self, 1) ? last : nullptr;
}

[[gnu::always_inline]] inline Manager* find_manager(const void* self) noexcept {
    Manager* last = last_manager_if(self);
    return __builtin_expect(last != nullptr, 1) ? last : look_for_manager(self);
}

bool is_on_open_mesh(const Manager& manager) noexcept {
    const Mesh* mesh = manager.mesh;
    return mesh != nullptr && mesh->is_open.load(std::memory_order_acquire) &&
           mesh->number.load(std::memory_order_acquire) == manager.mesh_number;
}

// Queues come and go with their meshes, and nobody says when: room is made when it is needed.
Manager* add_manager(Memory& all, const void* self) noexcept {
    if (Manager* added = all.managers.add(word_of(self))) return added;
    all.managers.each([&all](Manager& manager) noexcept {
        if (!is_on_open_mesh(manager)) all.managers.remove(&manager);
    });
    return all.managers.add(word_of(self));
}

// What was set up long ago and never launched on has gone with its mesh, most likely.
RingPlan* find_or_add_plan(Memory& all, const void* self) noexcept {
    static std::atomic<uint32_t> numbers{0};
    if (RingPlan* found = all.plans.find(word_of(self))) return found;
    const uint32_t number = numbers.fetch_add(1, std::memory_order_relaxed) + 1;
    RingPlan* added = all.plans.add(word_of(self));
    if (added == nullptr) {
        all.plans.each([&all, number](RingPlan& plan) noexcept {
            const uint32_t other = plan.number.load(std::memory_order_relaxed);
            if (other != 0 && number - other > kPlans / 4) all.plans.remove(&plan);
        });
        added = all.plans.add(word_of(self));
    }
    if (added != nullptr) added->number.store(number, std::memory_order_relaxed);
    return added;
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
void report_lane(Manager& manager, uint32_t place, uint8_t stall, bool is_aside) noexcept {
    Lane& lane = manager.lanes[place];
    const bool is_news = lane.is_news();
    const uint16_t target = target_of(*manager.mesh);
    if (target == 0 || (is_aside && !is_news)) return;
    if (has_journal())
        return note_ring({lane.live(), lane.retired(), lane.size(), lane.entry_count(),
                          RingMove::of(target, core_type_of(place), stall, is_aside)});
    const ttmem_ring_state state{lane.live(), lane.retired(),      lane.size(), lane.entry_count(),
                                 target,      core_type_of(place), stall,       is_aside};
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

// What was left to be told with the launch is older than what is told now.
void tell_left(LaunchedRing* room) noexcept {
    if (room == nullptr || !room->is_there()) return;
    if (has_journal()) report_ring_change(*room);
    *room = {};
}

// The rings that a launch used, and those that changed because it waited for others; its wait only once.
[[gnu::noinline]] void report(Manager& manager, uint32_t used) noexcept {
    tell_left(context().ring);
    if (!is_on_open_mesh(manager) && !settle_anew(manager)) return;
    const uint32_t left = manager.changed & manager.core_lanes;
    manager.changed = 0;
    report_lanes(manager, left, used);
}

// The target of a launch that has room for the ring it moves, to be told of both at once; else 0.
[[gnu::always_inline]] inline uint16_t target_of_launch(const Manager& manager, const LaunchedRing* room) noexcept {
    if (__builtin_expect(room == nullptr || room->is_there() || !has_journal() || !is_on_open_mesh(manager), 0))
        return 0;
    return manager.mesh->target.load(std::memory_order_acquire);
}

// Leaves the ring of the workers there.
[[gnu::always_inline]] inline void leave(Manager& manager, LaunchedRing& room, uint16_t target) noexcept {
    Lane& lane = manager.lanes[0];
    const RingMove move = RingMove::of(target, TTMEM_TENSIX, manager.stall, false);
    manager.changed = 0;
    room = {lane.tell(), lane.size(), LaunchedRing::word_of(move, lane.entry_count())};
    keep_ring(lane.live(), lane.retired(), lane.size(), lane.entry_count(), move);
}

// ---- what the runtime does

// Lanes of launch messages come last: what follows is the first of a ring that is set up again, with whatever size (the
// room of workers depends on how their mesh is opened).
bool is_whole(const Manager& manager) noexcept {
    if (manager.lane_count <= kLaunchLanes) return false;
    const Lane* last = manager.lanes + manager.lane_count - 1;
    return is_of_messages(last[-1].base(), last[-1].size()) && is_of_messages(last->base(), last->size());
}

bool is_whole(const RingPlan& plan) noexcept {
    if (plan.lane_count <= kLaunchLanes) return false;
    const LanePlace* last = plan.lanes + plan.lane_count - 1;
    return is_of_messages(last[-1].address, last[-1].size) && is_of_messages(last->address, last->size);
}

void add_lane(Manager& manager, uint32_t base, uint32_t size) noexcept {
    const bool is_used = manager.is_in_use || manager.places != nullptr;
    if (is_used || is_whole(manager) || manager.lane_count == kLanesMost) {
        manager.mesh = nullptr;  // another one may launch on it now
        manager.is_in_use = false;
        manager.freed_below = 0;
        manager.places = nullptr;
        manager.stall = TTMEM_STALL_NONE;
        manager.lane_count = manager.held = 0;
    }
    Stretch* intact = size > kSlotsMost ? manager.intact[manager.lane_count] : nullptr;
    manager.changed |= 1u << manager.lane_count;
    manager.lanes[manager.lane_count++].begin(base, size, intact);
    manager.core_lanes = manager.lane_count > kLaunchLanes ? (1u << (manager.lane_count - kLaunchLanes)) - 1 : 0;
}

void add_lane(RingPlan& plan, uint32_t base, uint32_t size) noexcept {
    if (plan.is_begun || is_whole(plan) || plan.lane_count == kLanesMost) {
        plan.is_begun = plan.is_lost = false;
        plan.lane_count = 0;
    }
    plan.lanes[plan.lane_count++] = {base, size};
}

// Also of a ring that is set up again: what was told of it before is reported again with its next launch.
void note_lane(const void* self, uint32_t base, uint32_t size) noexcept {
    Memory* all = memory();
    if (all == nullptr) return;
    if (Manager* manager = all->managers.find(word_of(self))) add_lane(*manager, base, size);
    RingPlan* plan = find_or_add_plan(*all, self);
    if (plan == nullptr) return;
    add_lane(*plan, base, size);
    if (plan->lane_count == 1) worker_ring_bytes.store(size, std::memory_order_relaxed);
}

// At its first launch; null if nobody saw how it was set up, or without room, which is counted.
[[gnu::cold]] Manager* make_manager(const void* self) noexcept {
    Memory& all = *memory();
    RingPlan* plan = all.plans.find(word_of(self));
    if (plan == nullptr || plan->is_lost) return nullptr;
    Manager* made = add_manager(all, self);
    if (made == nullptr) {
        plan->is_lost = true;
        count_lost();
        return nullptr;
    }
    made->self = self;
    for (uint32_t i = 0; i < plan->lane_count; ++i) add_lane(*made, plan->lanes[i].address, plan->lanes[i].size);
    plan->is_begun = true;
    settle_anew(*made);
    return made;
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
// The runtime answers with that count: the first with it need not be compared with the others.
[[gnu::noinline]] uint8_t reason_of(Manager& manager, const Sizes& sizes, uint32_t answered) noexcept {
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

// Hands the answer on: the caller need not keep it meanwhile.
[[gnu::noinline, gnu::hot]] ttmem_result note_stall(Manager& manager, const void* sizes, ttmem_result answer) noexcept {
    const auto& wanted = *static_cast<const Sizes*>(sizes);
    const auto answered = static_cast<uint32_t>(answer.low >> 32);
    const Lane& workers = manager.lanes[0];  // mostly they are short of room
    const bool is_plain =
        wanted.begin != wanted.end && workers.is_short_by_first(*wanted.begin, manager.freed_below, answered);
    manager.stall = __builtin_expect(is_plain, 1) ? uint8_t{TTMEM_STALL_SPACE} : reason_of(manager, wanted, answered);
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

// The counts begin again, or this launch has none of its own: what is finished must go before it comes.
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

[[gnu::always_inline]] inline void end_placing(Manager& manager) noexcept {
    manager.is_in_use = true;
    manager.places = nullptr;
    manager.stall = TTMEM_STALL_NONE;
}

// Which lanes of core types the launch used. Those that nobody is in and nobody wants are passed over.
uint32_t take_places(Manager& manager, const ReservedPlaces& places, uint32_t sync_count) noexcept {
    uint32_t used = 0, bit = 1;
    if (sync_count < manager.freed_below) retire_freed(manager);
    const ReservedPlace* place = places.begin;
    const auto told_count = static_cast<uint32_t>(places.end - place);  // one for each lane
    const uint32_t count = told_count < manager.lane_count ? told_count : manager.lane_count;
    for (Lane *lane = manager.lanes, *end = lane + count; lane != end; ++lane, ++place, bit <<= 1) {
        if (place->size == 0) {
            if ((manager.held & bit) != 0) retire_aside(manager, *lane, bit);
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

void take_any(Manager& manager, const ReservedPlaces& places, uint32_t sync_count) noexcept {
    const uint32_t used = take_places(manager, places, sync_count);
    LaunchedRing* room = context().ring;
    const bool is_of_workers = used == 1 && (manager.changed & manager.core_lanes) == 1;
    const uint16_t target = is_of_workers ? target_of_launch(manager, room) : uint16_t{0};
    target != 0 ? leave(manager, *room, target) : report(manager, used);
}

// The lanes of today's chips: of cores, and of launch messages to many of them and to one.
enum UsualLane : uint32_t { kWorkers, kActiveEthernet, kIdleEthernet, kToMany, kToOne, kUsualLanes };
constexpr uint32_t kEthernetLanes = 1u << kActiveEthernet | 1u << kIdleEthernet;

// The way of nearly all, as straight as it can be: workers run a program, are told so in one message, nobody is on other
// cores, and the binaries are where they belong. False, and nothing done, if it is not so.
[[gnu::always_inline]] inline bool take_plainly(Manager& manager, uint32_t sync_count) noexcept {
    LaunchedRing* room = context().ring;
    const auto* places = static_cast<const ReservedPlaces*>(manager.places);
    if (__builtin_expect(places == nullptr || room == nullptr || manager.lane_count != kUsualLanes, 0)) return false;
    const ReservedPlace* place = places->begin;
    const bool is_usual = context().enqueued->status == TTMEM_COMMITTED && places->end - place == kUsualLanes &&
                          (place[kActiveEthernet].size | place[kIdleEthernet].size | place[kToOne].size) == 0 &&
                          ((manager.held | manager.changed) & kEthernetLanes) == 0 && place[kWorkers].size != 0 &&
                          place[kToMany].size != 0 && sync_count >= manager.freed_below;
    if (__builtin_expect(!is_usual, 0)) return false;
    const uint16_t target = target_of_launch(manager, room);
    if (__builtin_expect(target == 0, 0)) return false;
    const LanePlace taken{place[kWorkers].address, place[kWorkers].size};
    Lane& workers = manager.lanes[kWorkers];
    if (__builtin_expect(!workers.go_on_plainly(manager.freed_below, taken, sync_count), 0))
        workers.go_on(manager.freed_below, taken, sync_count);
    manager.lanes[kToMany].add({place[kToMany].address, place[kToMany].size}, sync_count);
    manager.held = 1u << kWorkers;
    leave(manager, *room, target);
    end_placing(manager);
    return true;
}

void note_taken(Manager& manager, uint32_t sync_count) noexcept {
    const Workload* workload = context().enqueued;
    if (workload != nullptr && workload->is_told && workload->status == TTMEM_IN_FLIGHT)
        manager.stall = TTMEM_STALL_IN_FLIGHT;
    if (manager.places == nullptr) return;
    take_any(manager, *static_cast<const ReservedPlaces*>(manager.places), sync_count);
    end_placing(manager);
}

[[gnu::noinline]] void take_elsewhere(void* self, uint32_t sync_count, const void* caller) {
    void* real = original_from(Hook::ring_take, caller);
    if (Manager* manager = find_manager(self)) note_taken(*manager, sync_count);
    reinterpret_cast<void (*)(void*, uint32_t)>(real)(self, sync_count);
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

bool may_have_rings() noexcept {
    const Copy* copy = at_hand.copy;
    return has_rings.load(std::memory_order_relaxed) || copy == nullptr ||
           copy->originals[static_cast<uint32_t>(Hook::ring_add_lane)] == nullptr;
}

uint32_t kernel_ring_bytes() noexcept { return worker_ring_bytes.load(std::memory_order_relaxed); }

}  // namespace ttmem::hook

using ttmem::hook::Hook;

TTMEM_INTERPOSE(ring_add_lane, void, (void* self, uint32_t base, uint32_t size)) {
    auto* real = ttmem::hook::original_as<void(void*, uint32_t, uint32_t)>(Hook::ring_add_lane);
    ttmem::hook::has_rings.store(true, std::memory_order_relaxed);
    if (TTMEM_ON || ttmem::hook::remembers()) ttmem::hook::note_lane(self, base, size);
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
    if (__builtin_expect(manager == nullptr || !ttmem::hook::is_usual(caller), 0))
        return ttmem::hook::free_elsewhere(self, sync_count, caller);
    ttmem::hook::note_freed(*manager, sync_count);
    ttmem::hook::original_in<void(void*, uint32_t)>(ttmem::hook::usual_copy(), Hook::ring_free)(self, sync_count);
}

TTMEM_INTERPOSE_HOT(ring_take, void, (void* self, uint32_t sync_count)) {
    const void* caller = __builtin_return_address(0);
    auto* manager = ttmem::hook::last_manager_if(self);
    const bool is_usual = manager != nullptr && ttmem::hook::is_usual(caller);
    if (__builtin_expect(!is_usual || !ttmem::hook::take_plainly(*manager, sync_count), 0))
        return ttmem::hook::take_elsewhere(self, sync_count, caller);
    ttmem::hook::original_in<void(void*, uint32_t)>(ttmem::hook::usual_copy(), Hook::ring_take)(self, sync_count);
}

TTMEM_INTERPOSE(ring_fill, void, (void* self, uint32_t sync_count)) {
    auto* real = ttmem::hook::original_as<void(void*, uint32_t)>(Hook::ring_fill);
    if (!ttmem::hook::context().is_beginning_trace)
        if (auto* manager = ttmem::hook::find_manager(self)) ttmem::hook::note_filled(*manager, sync_count);
    real(self, sync_count);
}
