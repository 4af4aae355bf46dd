// Programs, their kernels and circular buffers, and the workloads that carry them.
#ifndef FAKE_METAL_PROGRAMS_HPP
#define FAKE_METAL_PROGRAMS_HPP

#include <map>
#include <optional>
#include <string_view>

#include "devices.hpp"

namespace ll_api {
class memory;
}

namespace tt::tt_metal {

inline bool holds(const CoreRange& range, const xy_pair& core) {
    return core.x >= range.start.x && core.x <= range.end.x && core.y >= range.start.y && core.y <= range.end.y;
}

class KernelSource {
public:
    enum SourceType { FILE_PATH, SOURCE_CODE };
    KernelSource(std::string source, SourceType type, std::filesystem::path path);
    KernelSource(const std::string& source_or_path, const SourceType& type);  // of older releases
    static KernelSource from_path(ContextId context, const std::filesystem::path& path);
    std::string source;
    SourceType type;
    std::filesystem::path path;
};

class Kernel {
public:
    struct Form {
        std::string name;
        std::vector<CoreRange> cores;
        std::vector<uint32_t> packed_bytes;  // of each binary
        HalProgrammableCoreType core_type = HalProgrammableCoreType::TENSIX;
    };
    explicit Kernel(Form form);
    virtual ~Kernel();
    virtual uint8_t expected_num_binaries() const = 0;
    std::string name() const __attribute__((abi_tag("cxx11")));
    const std::string& get_full_kernel_name() const __attribute__((abi_tag("cxx11")));
    uint32_t get_binary_packed_size(IDevice* device, int index) const;
    void set_binaries(uint64_t build_key, std::vector<const ll_api::memory*>&& binaries);
    std::vector<CoreRange> logical_coreranges() const;
    HalProgrammableCoreType get_kernel_core_type() const;

    const Form form;
    bool is_compiled = false;
    std::vector<const ll_api::memory*> binaries;

private:
    std::string full_name_;
};
class DataMovementKernel : public Kernel {
public:
    using Kernel::Kernel;
    ~DataMovementKernel() override;
    uint8_t expected_num_binaries() const override;
};
class ComputeKernel : public Kernel {
public:
    using Kernel::Kernel;
    ~ComputeKernel() override;
    uint8_t expected_num_binaries() const override;
};
class DramKernel : public Kernel {
public:
    using Kernel::Kernel;
    ~DramKernel() override;
    uint8_t expected_num_binaries() const override;
};
class EthernetKernel : public Kernel {
public:
    using Kernel::Kernel;
    ~EthernetKernel() override;
    uint8_t expected_num_binaries() const override;
};

namespace experimental {
class GlobalCircularBuffer {
public:
    const Buffer* buffer;
};
}  // namespace experimental

class CircularBufferImpl {
public:
    CircularBufferImpl(std::vector<CoreRange> cores, uint32_t pages, uint32_t page_bytes)
        : cores(std::move(cores)), pages_(pages), page_bytes_(page_bytes) {}
    uint32_t address() const;
    bool uses_buffer_index(uint32_t index) const;
    uint32_t num_pages(uint32_t index) const;
    uint32_t page_size(uint32_t index) const;
    bool is_on_logical_core(const xy_pair& core) const;
    bool is_on_logical_corerange(const CoreRange& range) const;
    void set_global_buffer(const Buffer& buffer, uint32_t size_bytes, uint32_t offset_bytes);
    void set_global_circular_buffer(const experimental::GlobalCircularBuffer& buffer);
    void assign_global_address();

    std::vector<CoreRange> cores;
    const Buffer* global = nullptr;
    uint32_t place = 0;

private:
    uint32_t pages_, page_bytes_;
};

namespace detail {

class ProgramImpl {
public:
    // The runtime's starts with the range of cores that it speaks for, too.
    class CircularBufferAllocator {
    public:
        void mark_address(uint64_t address, uint64_t size, uint64_t base);
        CoreRange cores;
    };
    struct Owned {  // a dataflow buffer or a scratchpad
        std::vector<CoreRange> cores;
        uint64_t size_bytes;
    };
    explicit ProgramImpl(uint64_t id);
    ~ProgramImpl();
    uint64_t get_id() const;
    uint32_t add_kernel(const std::shared_ptr<Kernel>& kernel, const HalProgrammableCoreType& core_type);
    void compile(IDevice* device, bool is_forced);
    void allocate_circular_buffers(const IDevice* device);
    void deallocate_circular_buffers();
    uint64_t reserve_program_local_l1(const IDevice* device, const CoreRangeSet& cores);
    void allocate_dataflow_buffers(const IDevice* device);
    void allocate_scratchpads(const IDevice* device);
    void finalize_offsets(IDevice* device);
    void validate_circular_buffer_region(const IDevice* device);
    void validate_dataflow_buffer_region(const IDevice* device);
    std::span<const std::shared_ptr<CircularBufferImpl>> circular_buffers() const;
    std::vector<std::vector<xy_pair>> logical_cores() const;
    size_t num_kernels() const;

    std::vector<std::shared_ptr<Kernel>> kernels;
    std::vector<std::shared_ptr<CircularBufferImpl>> cbs;
    std::vector<Owned> dataflow_buffers, scratchpads;
    const distributed::MeshDevice* mesh = nullptr;  // where its circular buffers lie
    bool is_compiled = false, has_places = false, has_dataflow_buffers = false, has_scratchpads = false;
    uint64_t region_end = 0;

private:
    bool runs_on(const xy_pair& core, size_t core_type) const;
    void place_dataflow_buffer(const IDevice* device, const Owned& buffer);
    uint64_t id_;
};

}  // namespace detail

class Program {
public:
    explicit Program(uint64_t id) : impl(std::make_shared<detail::ProgramImpl>(id)) {}
    std::shared_ptr<detail::ProgramImpl> impl;  // first, as in the runtime
};

class Inspector {
public:
    static void program_created(const detail::ProgramImpl* program);
    static void program_destroyed(const detail::ProgramImpl* program);
    static void program_compile_started(const detail::ProgramImpl* program, const IDevice* device, uint64_t build_key);
    static void program_compile_finished(const detail::ProgramImpl* program, const IDevice* device, uint64_t build_key);
    static void program_compile_already_exists(const detail::ProgramImpl* program, const IDevice* device,
                                               uint64_t build_key);
    static void program_kernel_compile_finished(const detail::ProgramImpl* program, const IDevice* device,
                                                const std::shared_ptr<Kernel>& kernel, const JitBuildOptions& options,
                                                const std::string& path);
    static void mesh_device_created(const distributed::MeshDeviceImpl* mesh, std::optional<int> parent);
    static void mesh_device_initialized(const distributed::MeshDeviceImpl* mesh);
    static void mesh_device_destroyed(const distributed::MeshDeviceImpl* mesh);
};

namespace program_dispatch {
void finalize_kernel_bins(IDevice* device, uint32_t core_type,
                          const std::unordered_map<uint32_t, std::shared_ptr<Kernel>>& kernels,
                          std::vector<std::shared_ptr<KernelGroup>>& groups, uint32_t base, uint32_t& text_offset,
                          uint32_t& text_size);
}

// Hands out room in the rings that kernels run from: one ring for each type of core.
class WorkerConfigBufferMgr {
public:
    struct Sync {
        bool is_needed;
        uint32_t count;
    };
    struct Room {
        uint32_t address, size, sync_count = 0;
    };
    void init_add_buffer(uint32_t base, uint32_t size);
    std::pair<Sync, std::vector<Room>&> reserve(const std::vector<uint32_t>& sizes);
    void free(uint32_t count);
    void alloc(uint32_t count);
    void mark_completely_full(uint32_t count);

    bool has_room = true;                        // a script takes it away: the next launch stalls
    std::vector<Room> rings, reserved, entries;  // the last of the workers' ring
    std::vector<uint32_t> tails;                 // of each ring: where the last launch ends
    uint32_t last_on_ethernet = 0;               // the count of that launch
};

namespace distributed {

class MeshCoordinate {
public:
    std::span<const uint32_t> coords() const;
    std::array<uint32_t, 2> numbers;
};
class MeshCoordinateRange {
public:
    const MeshCoordinate& start_coord() const;
    const MeshCoordinate& end_coord() const;
    MeshCoordinate start, end;
};

class MeshWorkloadImpl {
public:
    MeshWorkloadImpl();
    ~MeshWorkloadImpl();
    void add_program(const MeshCoordinateRange& range, Program&& program);
    void finalize_offsets(MeshDevice* mesh);
    void load_binaries(MeshCommandQueue& queue);
    void set_program_binary_status(uint64_t mesh, ProgramBinaryStatus status);
    ProgramBinaryStatus get_program_binary_status(uint64_t mesh) const;

    std::vector<Program> programs;
    std::unique_ptr<Buffer> binaries;
    MeshDevice* mesh = nullptr;
    uint64_t binary_bytes = 0, binary_id = 0;
    std::map<uint64_t, ProgramBinaryStatus> statuses;  // by mesh
    bool is_finalized = false;
};

class MeshWorkload {
public:
    MeshWorkload() : impl(std::make_unique<MeshWorkloadImpl>()) {}
    std::unique_ptr<MeshWorkloadImpl> impl;  // first, as in the runtime
};

void EnqueueMeshWorkload(MeshCommandQueue& queue, MeshWorkload& workload, bool is_blocking);

}  // namespace distributed

struct TensorSpec {
    uint64_t words[19];
};

namespace experimental::inspector {
void EmitMeshWorkloadDebugEntry(distributed::MeshWorkload& workload, size_t runtime_id, std::string_view name,
                                std::vector<TensorSpec> specs, std::optional<distributed::MeshTraceId> trace);
}  // namespace experimental::inspector
}  // namespace tt::tt_metal

#endif
