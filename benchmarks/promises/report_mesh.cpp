// Promise: a report on a mesh of 32 chips costs at most 1.2 x that on one chip. Both are measured on one
// journal, batch beside batch.
#include "measure/live_set.hpp"
#include "measure/scenario.hpp"

using namespace measure;

namespace {

constexpr uint32_t kLive = 1'000;
constexpr uint64_t kEvents = 2'000'000;

template <typename Way>
Samples chip_then_mesh_ns() {
    LiveSet<Way> chip(Way{open_target(1)}, kLive);
    LiveSet<Way> mesh(Way{open_target(32)}, kLive);
    LiveSet<ByNothing> nothing(ByNothing{}, kLive);
    const uint64_t turns = event_count(kEvents) / kEventsPerTurn;
    const auto mean_ns = [&](auto& set) {
        return batch_mean_ns([&](uint64_t count) { set.turn(count); }, turns, kEventsPerTurn);
    };
    mean_ns(chip);
    mean_ns(mesh);
    Samples chip_ns;
    Samples mesh_ns;
    for (int i = 0; i < batch_count(); ++i) {
        const double empty_ns = mean_ns(nothing);
        chip_ns.push_back(mean_ns(chip) - empty_ns);
        mesh_ns.push_back(mean_ns(mesh) - empty_ns);
    }
    return {median(chip_ns), median(mesh_ns)};
}

template <typename Way>
void compare(const std::string& words) {
    const Samples both = in_child({}, chip_then_mesh_ns<Way>);
    show({.name = "1 chip, " + words, .value = both[0]});
    show({.name = "mesh of 32, " + words, .value = both[1]});
    show({.name = "mesh of 32 / 1 chip, " + words, .value = both[1] / both[0], .unit = "x", .target = "<= 1.2"});
}

}  // namespace

int main() {
    return run([] {
        compare<ByHandle>("by handle");
        compare<ById>("by id");
    });
}
