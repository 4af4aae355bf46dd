#include "devices.hpp"

#include "../script/world.hpp"
#include "../tallies.hpp"
#include "programs.hpp"

using fake::Arrived;
using fake::Asked;

namespace tt {

const std::unordered_map<int, uint64_t>& umd::ClusterDescriptor::get_chip_unique_ids() const { return unique_ids; }

umd::ClusterDescriptor* Cluster::get_cluster_desc() const {
    static umd::ClusterDescriptor description;
    if (description.unique_ids.empty())
        for (int chip = 0; chip < 32; ++chip)
            description.unique_ids[chip] = fake::board.first_unique_id + static_cast<uint64_t>(chip);
    return &description;
}
BoardType Cluster::get_board_type(int) const { return BoardType::N150; }
std::string get_string_lowercase(ARCH) { return "wormhole_b0"; }
std::string board_type_to_string(BoardType) { return "n150"; }

namespace tt_metal {

uint32_t CoreRangeSet::num_cores() const {
    uint64_t count = 0;
    for (const auto& range : ranges_) count += (range.end.x - range.start.x + 1) * (range.end.y - range.start.y + 1);
    return static_cast<uint32_t>(count);
}
const std::vector<CoreRange>& CoreRangeSet::ranges() const { return ranges_; }

Device::~Device() = default;
ARCH Device::arch() const { return ARCH::WORMHOLE_B0; }
int Device::id() const { return chip_; }

SharedMemoryStatsProvider::SharedMemoryStatsProvider(uint64_t unique_id, int chip, bool is_remote, bool is_verbose) {
    const Arrived here("stats_provider", this, unique_id, chip, is_remote, is_verbose);
}
SharedMemoryStatsProvider::SharedMemoryStatsProvider(uint64_t unique_id, int chip) {
    const Arrived here("old_stats_provider", this, unique_id, chip);
}

MetalContext& MetalContext::instance(ContextId) {
    static MetalContext context;
    return context;
}
Cluster& MetalContext::get_cluster() {
    static Cluster cluster;
    return cluster;
}

namespace distributed {

MeshDeviceImpl::MeshDeviceImpl(int mesh, uint64_t rows, std::vector<int> chips)
    : impl(std::make_unique<AllocatorImpl>()), mesh_(mesh), rows_(rows), chips_(std::move(chips)) {
    for (const int chip : chips_) devices.push_back(std::make_unique<Device>(chip));
}
MeshDeviceImpl::~MeshDeviceImpl() = default;
ARCH MeshDeviceImpl::arch() const { return ARCH::WORMHOLE_B0; }
int MeshDeviceImpl::id() const { return mesh_; }
xy_pair MeshDeviceImpl::compute_with_storage_grid_size() const { return {fake::board.grid_x, fake::board.grid_y}; }
size_t MeshDeviceImpl::num_devices() const { return chips_.size(); }
size_t MeshDeviceImpl::num_rows() const { return rows_; }
size_t MeshDeviceImpl::num_cols() const { return chips_.size() / rows_; }
std::vector<int> MeshDeviceImpl::get_device_ids() const { return chips_; }
std::vector<IDevice*> MeshDeviceImpl::get_devices() const {
    std::vector<IDevice*> all;
    for (const auto& device : devices) all.push_back(device.get());
    return all;
}
const std::unique_ptr<Allocator>& MeshDeviceImpl::allocator() const { return impl->view(); }
const std::unique_ptr<AllocatorImpl>& MeshDeviceImpl::allocator_impl() const { return impl; }
MeshCommandQueue& MeshDeviceImpl::mesh_command_queue(std::optional<uint8_t> queue) const {
    return queue.value_or(0) == 0 ? fake::world().queue : fake::world().other_queue;
}
bool MeshDeviceImpl::close_impl(MeshDevice* mesh) {
    const Arrived here("close_impl", this, mesh);
    return fake::gave("close_impl", true);
}

MeshDevice::MeshDevice(std::unique_ptr<MeshDeviceImpl> held) : impl(std::move(held)) {}
MeshDevice::~MeshDevice() = default;
ARCH MeshDevice::arch() const { return impl->arch(); }
int MeshDevice::id() const { return impl->id(); }
xy_pair MeshDevice::compute_with_storage_grid_size() const { return impl->compute_with_storage_grid_size(); }
size_t MeshDevice::num_devices() const { return impl->num_devices(); }
std::vector<int> MeshDevice::get_device_ids() const { return impl->get_device_ids(); }
std::vector<IDevice*> MeshDevice::get_devices() const { return impl->get_devices(); }
const std::unique_ptr<Allocator>& MeshDevice::allocator() const { return impl->allocator(); }
const std::unique_ptr<AllocatorImpl>& MeshDevice::allocator_impl() const { return impl->allocator_impl(); }
std::optional<uint64_t> MeshDevice::lowest_occupied_compute_l1_address() const {
    const auto& blocks = impl->impl->banks[static_cast<size_t>(BufferType::L1)].blocks;
    return blocks.empty() ? std::nullopt : std::optional<uint64_t>(blocks.begin()->first);
}

}  // namespace distributed

void Inspector::mesh_device_created(const distributed::MeshDeviceImpl* mesh, std::optional<int> parent) {
    const Arrived here("mesh_device_created", mesh, parent.value_or(-1));
}
void Inspector::mesh_device_initialized(const distributed::MeshDeviceImpl* mesh) {
    const Arrived here("mesh_device_initialized", mesh);
}
void Inspector::mesh_device_destroyed(const distributed::MeshDeviceImpl* mesh) {
    const Arrived here("mesh_device_destroyed", mesh);
}

}  // namespace tt_metal
}  // namespace tt
