// The stand-in's script: one order a line, one answer a line. What a script makes has the numbers that it gives.
//
//   board 8 9 [without-counters]           grid of the chips; whether the runtime keeps counters in shared memory
//   small BYTES                            of L1_SMALL in each bank, of meshes that are opened from then on
//   region on|off                          whether there is a trace region; without one traces are stored in DRAM
//   binaries on|off                        whether kernels are compiled to anything
//   create MESH ROWS CHIP...               initialize MESH   dispatch MESH        fabric MESH
//   open MESH ROWS CHIP...                 close MESH        shut MESH
//                                          (open: created and initialized; shut: closed, but still referred to)
//   buffer ID MESH TYPE SIZE PAGE [CORES]  free ID           capture on|off       churn MESH FIRST COUNT
//                                          (MESH@PLACE: on that chip of the mesh alone; "nowhere": on a chip of no
//                                          mesh; CORES as X,Y-X,Y instead of a count: allocated by core)
//   programs MESH FIRST COUNT              (made, compiled, laid out and dropped again)
//   program ID                             kernel PROGRAM data|compute|ethernet|idle|dram PATH CORES BYTES,...
//   cb PROGRAM CORES PAGES PAGE [BUFFER]   dataflow PROGRAM CORES SIZE            scratchpad PROGRAM CORES SIZE
//   workload ID MESH BYTES BUFFER PROGRAM[@ROW,COLUMN-ROW,COLUMN]...
//   enqueue ID [other-queue] [blocking]    clear ID          drop PROGRAM         lessen PROGRAM
//   move PROGRAM NUMBER BUFFER [remote]    fill  count-anew  slow on|off          stuck on|off         failing on|off
//                                          (slow: as it is when a mesh is opened decides whether there is a ring)
//   within BUFFER (which the next launch makes in DRAM)
//   rings COUNT (sets up its own, and so many that nobody launches on)          ring-again BYTES (of a worker)
//   begin MESH    end MESH TRACE BUFFER BYTES    replay MESH TRACE    release MESH TRACE
//   tallies                                later exit|end ORDER                   repeat COUNT ORDER
//   ended ORDER                            on a thread of its own, which the allocator ends
//
// CORES is X,Y-X,Y, several joined by ";". An order that throws answers "throws TEXT".
#include <pthread.h>

#include <cstdlib>

#include "../tallies.hpp"
#include "words.hpp"

namespace fake {
namespace {

std::string obey(const std::string& order);

// Orders for when the process ends: from an exit handler, or when static objects of this library are destroyed.
struct AtEnd {
    std::vector<std::string> orders;
    ~AtEnd() {
        for (const auto& order : orders) std::puts(obey(order).c_str());
    }
} at_end;
std::vector<std::string>& at_exit() {
    static auto* const orders = new std::vector<std::string>;
    return *orders;
}
void obey_at_exit() {
    for (const auto& order : at_exit()) std::puts(obey(order).c_str());
}

std::string rest_of(const Words& words) {
    std::string order;
    for (size_t i = 2; i < words.size(); ++i) order += (i > 2 ? " " : "") + words[i];
    return order;
}

std::string later(const Words& words) {
    const std::string order = rest_of(words);
    if (words[1] == "end") {
        at_end.orders.push_back(order);
    } else {
        if (at_exit().empty()) std::atexit(obey_at_exit);
        at_exit().push_back(order);
    }
    return "later";
}

std::string tell_tallies(const Words&) { return told(); }

std::string repeat(const Words& words) {
    std::string answer;
    for (uint64_t i = 0; i < number(words[1]); ++i) answer = obey(rest_of(words));
    return answer;
}

void* obey_until_ended(void* order) {
    metal::AllocatorImpl::is_ending_thread = true;
    obey(*static_cast<const std::string*>(order));
    return order;
}

std::string ended(const Words& words) {
    std::string order;
    for (size_t i = 1; i < words.size(); ++i) order += (i > 1 ? " " : "") + words[i];
    pthread_t thread;
    void* result = nullptr;
    if (pthread_create(&thread, nullptr, obey_until_ended, &order) != 0 || pthread_join(thread, &result) != 0)
        return "no";
    return result == nullptr ? "ended" : "went on";
}

const Order kOwnOrders[] = {
    {"tallies", tell_tallies}, {"later", later}, {"repeat", repeat}, {"ended", ended}, {nullptr, nullptr}};

std::string obey(const std::string& order) {
    const Words words = parted(order, ' ');
    try {
        for (const Order* table : {kOwnOrders, kDeviceOrders, kProgramOrders})
            for (const Order* one = table; one->name != nullptr; ++one)
                if (words[0] == one->name) return one->obey(words);
    } catch (const std::runtime_error& error) {
        return std::string("throws ") + error.what();
    }
    return "no such order";
}

}  // namespace
}  // namespace fake

/// Obeys one order and puts its answer into `answer`.
extern "C" __attribute__((visibility("default"))) void fake_obey(const char* order, char* answer, size_t room) {
    std::snprintf(answer, room, "%s", fake::obey(order).c_str());
}

/// Launches go through this function from now on, as through another library of the runtime.
extern "C" __attribute__((visibility("default"))) void fake_enqueue_by(void* function) {
    fake::world().enqueue = reinterpret_cast<decltype(fake::World::enqueue)>(function);
}
