// Chips, and meshes of them: opened, asked, closed.
#ifndef FAKE_METAL_DEVICES_HPP
#define FAKE_METAL_DEVICES_HPP

#include "runtime.hpp"

namespace tt::tt_metal {

class Device : public IDevice {
public:
    explicit Device(int chip) : chip_(chip) {}
    ~Device() override;
    ARCH arch() const override;
    int id() const override;
    // System programs, which a mock never has.
    void configure_fabric();
    void configure_command_queue_programs(DispatchTopology* topology);

    AllocatorImpl impl;  // of buffers that are on this chip alone

private:
    int chip_;
};

// The runtime's own counters in shared memory; only that they are made, and for which chip, is seen from outside.
class SharedMemoryStatsProvider {
public:
    SharedMemoryStatsProvider(uint64_t unique_id, int chip, bool is_remote, bool is_verbose);
    SharedMemoryStatsProvider(uint64_t unique_id, int chip);  // of older releases
};

class MetalContext {
public:
    static MetalContext& instance(ContextId context);
    Cluster& get_cluster();
};

namespace distributed {

class MeshDevice;
class MeshCommandQueue {};
struct MeshTraceIdTag;
using MeshTraceId = ttsl::StrongType<uint32_t, MeshTraceIdTag>;

class MeshDeviceImpl : public IDevice {
public:
    MeshDeviceImpl(int mesh, uint64_t rows, std::vector<int> chips);
    ~MeshDeviceImpl() override;
    ARCH arch() const override;
    int id() const override;
    xy_pair compute_with_storage_grid_size() const;
    size_t num_devices() const;
    size_t num_rows() const;
    size_t num_cols() const;
    std::vector<int> get_device_ids() const;
    std::vector<IDevice*> get_devices() const;
    const std::unique_ptr<Allocator>& allocator() const;
    const std::unique_ptr<AllocatorImpl>& allocator_impl() const;
    MeshCommandQueue& mesh_command_queue(std::optional<uint8_t> queue) const;
    bool close_impl(MeshDevice* mesh);
    void begin_mesh_trace(uint8_t queue, const MeshTraceId& trace);
    void end_mesh_trace(uint8_t queue, const MeshTraceId& trace);
    void replay_mesh_trace(uint8_t queue, const MeshTraceId& trace, bool is_blocking);
    void release_mesh_trace(const MeshTraceId& trace);

    std::unique_ptr<AllocatorImpl> impl;
    std::vector<std::unique_ptr<Device>> devices;

private:
    int mesh_;
    uint64_t rows_;
    std::vector<int> chips_;
};

// What users hold.
class MeshDevice : public IDevice {
public:
    explicit MeshDevice(std::unique_ptr<MeshDeviceImpl> impl);
    ~MeshDevice() override;
    ARCH arch() const override;
    int id() const override;
    xy_pair compute_with_storage_grid_size() const;
    size_t num_devices() const;
    std::vector<int> get_device_ids() const;
    std::vector<IDevice*> get_devices() const;
    const std::unique_ptr<Allocator>& allocator() const;
    const std::unique_ptr<AllocatorImpl>& allocator_impl() const;
    std::optional<uint64_t> lowest_occupied_compute_l1_address() const;
    MeshTraceId begin_mesh_trace(MeshCommandQueue& queue);
    void end_mesh_trace(MeshCommandQueue& queue, const MeshTraceId& trace);
    void replay_mesh_trace(MeshCommandQueue& queue, const MeshTraceId& trace, bool is_blocking);
    void release_mesh_trace(const MeshTraceId& trace);

    std::unique_ptr<MeshDeviceImpl> impl;
};

}  // namespace distributed
}  // namespace tt::tt_metal

namespace fake {

// What the board is like; `board` in a script changes it.
struct Board {
    uint64_t grid_x = 8, grid_y = 9;           // the simulated board of the samples
    bool has_own_counters = true;              // whether SharedMemoryStatsProvider is made
    uint64_t l1_small_bytes = 0;               // in each bank
    bool has_binaries = true;                  // else kernels are compiled to nothing
    bool has_trace_region = true;              // else traces are stored in DRAM, from its top
    uint64_t first_unique_id = 1649267441665;  // of chip 0; the next chip has the next one
};
inline Board board;
inline constexpr uint32_t kDramBanks = 12;
inline constexpr uint64_t kDramBase = 1048640, kDramTop = 1073651712, kTraceTop = 1073741824;
inline constexpr uint64_t kL1Base = 105824, kL1Top = 1499136;

}  // namespace fake

#endif
