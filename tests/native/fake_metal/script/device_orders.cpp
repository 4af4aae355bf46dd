// Orders about boards, meshes and buffers.
#include "../tallies.hpp"
#include "words.hpp"

namespace fake {
namespace {

using metal::distributed::MeshDevice;
using metal::distributed::MeshDeviceImpl;

metal::BufferType type_of(const std::string& name) {
    if (name == "DRAM") return metal::BufferType::DRAM;
    if (name == "L1_SMALL") return metal::BufferType::L1_SMALL;
    return name == "TRACE" ? metal::BufferType::TRACE : metal::BufferType::L1;
}

metal::Buffer::Form form_of(const Words& words) {
    metal::Buffer::Form form{number(words[1]), number(words[4]), number(words[5]), type_of(words[3])};
    form.is_bottom_up = form.type != metal::BufferType::L1;
    if (words.size() <= 6) return form;
    form.layout = 2;  // sharded by height
    if (words[6].find(',') == std::string::npos) {
        form.core_count = half(words[6]);
        return form;
    }
    for (const auto& range : cores_of(words[6]))
        for (uint64_t y = range.start.y; y <= range.end.y; ++y)
            for (uint64_t x = range.start.x; x <= range.end.x; ++x) form.cores.push_back({x, y});
    form.core_count = static_cast<uint32_t>(form.cores.size());
    return form;
}

// Who allocates a buffer.
struct Holder {
    metal::IDevice* device;
    metal::AllocatorImpl* allocator;
};
Holder holder_of(const std::string& text) {
    static auto* const stray = new metal::Device(31);
    if (text == "nowhere") return {stray, &stray->impl};
    const Words parts = parted(text, '@');
    auto& mesh = world().meshes.at(number(parts[0]));
    if (parts.size() == 1) return {&mesh, mesh.impl->impl.get()};
    auto& chip = *mesh.impl->devices.at(number(parts[1]));
    return {&chip, &chip.impl};
}

// The runtime's counters in shared memory, by the constructor of either generation: a release exports one of them.
void make_counters(int chip) {
    const uint64_t unique_id = board.first_unique_id + static_cast<uint64_t>(chip);
    alignas(8) std::byte room[sizeof(metal::SharedMemoryStatsProvider)];
    void* const place = room;
    Asked call("stats_provider", place, unique_id, chip, false, true);
    new (place) metal::SharedMemoryStatsProvider(unique_id, chip, false, true);
    call.back();
    Asked old("old_stats_provider", place, unique_id, chip);
    new (place) metal::SharedMemoryStatsProvider(unique_id, chip);
    old.back();
}

// Opening makes two meshes: one of the whole system, never initialised, and the user's, a child of it.
std::string create_mesh(const Words& words) {
    auto& made = world();
    const uint64_t mesh = number(words[1]);
    std::vector<int> chips;
    for (size_t i = 3; i < words.size(); ++i) chips.push_back(static_cast<int>(number(words[i])));
    for (size_t i = 0; board.has_own_counters && i < chips.size(); ++i) make_counters(chips[i]);
    for (const uint64_t id : {mesh - 1, mesh}) {
        auto impl = std::make_unique<MeshDeviceImpl>(static_cast<int>(id), number(words[2]), chips);
        const auto parent = id == mesh ? std::optional<int>(static_cast<int>(mesh - 1)) : std::nullopt;
        Asked call("mesh_device_created", impl.get(), parent.value_or(-1));
        metal::Inspector::mesh_device_created(impl.get(), parent);
        call.back();
        made.meshes.put(id, new MeshDevice(std::move(impl)));
    }
    return "created";
}

std::string initialize_mesh(const Words& words) {
    const auto* impl = world().meshes.at(number(words[1])).impl.get();
    Asked call("mesh_device_initialized", impl);
    metal::Inspector::mesh_device_initialized(impl);
    call.back();
    if (!world().is_slow) world().start_rings(0);
    return "opened";
}

std::string open_mesh(const Words& words) {
    create_mesh(words);
    return initialize_mesh(words);
}

void shut(MeshDevice& mesh) {
    Asked call("close_impl", mesh.impl.get(), &mesh);
    call.got(mesh.impl->close_impl(&mesh));
}

// Somebody still refers to it.
std::string shut_mesh(const Words& words) {
    shut(world().meshes.at(number(words[1])));
    return "shut";
}

std::string close_mesh(const Words& words) {
    auto& made = world();
    const uint64_t mesh = number(words[1]);
    for (const uint64_t id : {mesh - 1, mesh}) {
        shut(made.meshes.at(id));
        auto* const impl = made.meshes.at(id).impl.get();
        Asked call("mesh_device_destroyed", impl);
        metal::Inspector::mesh_device_destroyed(impl);
        call.back();
        while (auto* program = made.system_programs.take(mesh)) delete program;  // before the user's mesh is closed
        made.closed.put(id, made.meshes.take(id));
    }
    return "closed";
}

std::string add_dispatch(const Words& words) {
    world().opening = number(words[1]);
    for (const auto& chip : world().meshes.at(world().opening).impl->devices) {
        world().add_system_program(*chip, kDispatchKernels);
        Asked call("configure_command_queue_programs", chip.get(), static_cast<void*>(nullptr));
        chip->configure_command_queue_programs(nullptr);
        call.back();
    }
    return "running";
}

std::string add_fabric(const Words& words) {
    world().opening = number(words[1]);
    for (const auto& chip : world().meshes.at(world().opening).impl->devices) {
        world().add_system_program(*chip, kFabricKernels);
        Asked call("configure_fabric", chip.get());
        chip->configure_fabric();
        call.back();
    }
    return "running";
}

std::string add_buffer(const Words& words) {
    const auto [device, allocator] = holder_of(words[2]);
    auto* const buffer = new metal::Buffer(device, allocator, form_of(words));
    world().buffers.put(buffer->form.id, buffer);
    if (buffer->core_places.empty()) return std::to_string(buffer->place);
    std::string answer;  // the address on each core, in the order of the cores
    for (const auto& core : buffer->form.cores)
        answer += (answer.empty() ? "" : " ") + std::to_string(buffer->core_places.at(core));
    return answer;
}

// Allocates and frees at full speed; any number of threads may do it at once.
std::string churn(const Words& words) {
    auto& mesh = world().meshes.at(number(words[1]));
    std::array<std::unique_ptr<metal::Buffer>, 16> held;
    for (uint64_t i = 0, first = number(words[2]); i < number(words[3]); ++i) {
        auto& place = held[i % held.size()];
        place.reset();
        const metal::Buffer::Form form{first + i, (i % 5 + 1) * 4096, 2048, metal::BufferType::DRAM};
        place = std::make_unique<metal::Buffer>(&mesh, mesh.impl->impl.get(), form);
    }
    for (auto& buffer : held) static_cast<void>(words.size() > 4 ? buffer.release() : (buffer.reset(), nullptr));
    return "churned";
}

std::string set_board(const Words& words) {
    board.grid_x = number(words[1]);
    board.grid_y = number(words[2]);
    board.has_own_counters = words.size() < 4;
    return "set";
}

std::string set_small(const Words& words) { return board.l1_small_bytes = number(words[1]), "set"; }
std::string set_binaries(const Words& words) { return board.has_binaries = words[1] == "on", "set"; }
std::string set_region(const Words& words) { return board.has_trace_region = words[1] == "on", "set"; }
std::string free_buffer(const Words& words) { return world().buffers.drop(number(words[1])), "freed"; }
std::string set_capture(const Words& words) {
    metal::GraphTracker::instance().is_capturing_only = words[1] == "on";
    return "set";
}

}  // namespace

const Order kDeviceOrders[] = {{"board", set_board},       {"create", create_mesh},    {"initialize", initialize_mesh},
                               {"open", open_mesh},        {"shut", shut_mesh},        {"close", close_mesh},
                               {"dispatch", add_dispatch}, {"fabric", add_fabric},     {"buffer", add_buffer},
                               {"free", free_buffer},      {"churn", churn},           {"capture", set_capture},
                               {"small", set_small},       {"binaries", set_binaries}, {"region", set_region},
                               {nullptr, nullptr}};

}  // namespace fake
