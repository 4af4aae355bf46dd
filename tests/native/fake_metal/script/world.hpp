// What a script has made so far, by the numbers it gave.
#ifndef FAKE_METAL_WORLD_HPP
#define FAKE_METAL_WORLD_HPP

#include <cstdlib>
#include <mutex>

#include "../metal/programs.hpp"

namespace fake {

namespace metal = tt::tt_metal;
using metal::CoreRange;

// A kernel of the runtime's own programs, on one core.
struct SystemKernel {
    const char* path;
    CoreRange cores;
    std::vector<uint32_t> packed_bytes;
    metal::HalProgrammableCoreType core_type = metal::HalProgrammableCoreType::TENSIX;
};
extern const std::vector<SystemKernel> kDispatchKernels, kFabricKernels;

// Things by number. What was put in stays at its place until it is dropped.
template <class T>
class Shelf {
public:
    void put(uint64_t number, T* thing) {
        size_t place = 0;
        while (things_[place] != nullptr) ++place;
        numbers_[place] = number;
        things_[place] = thing;
    }
    /// Gives it away; null if there is none of that number.
    T* take(uint64_t number) {
        T** place = find(number);
        T* thing = place == nullptr ? nullptr : *place;
        if (place != nullptr) *place = nullptr;
        return thing;
    }
    void drop(uint64_t number) { delete take(number); }
    T& at(uint64_t number) {
        T** place = find(number);
        if (place == nullptr) std::abort();
        return **place;
    }
    T* const* begin() const { return things_; }
    T* const* end() const { return things_ + kMost; }

private:
    static constexpr size_t kMost = 256;
    T** find(uint64_t number) {
        for (size_t i = 0; i < kMost; ++i)
            if (things_[i] != nullptr && numbers_[i] == number) return &things_[i];
        return nullptr;
    }
    uint64_t numbers_[kMost] = {};
    T* things_[kMost] = {};
};

struct World {
    Shelf<metal::distributed::MeshDevice> meshes;
    Shelf<metal::distributed::MeshDevice> closed;  // kept: late frees still name them
    Shelf<metal::Buffer> buffers, traces;
    Shelf<metal::Program> programs, system_programs;
    Shelf<metal::distributed::MeshWorkload> workloads;
    metal::WorkerConfigBufferMgr ring;
    std::vector<std::unique_ptr<metal::WorkerConfigBufferMgr>> unused_rings;
    std::mutex placing;  // one launch at a time finds its room, as on a queue of the runtime's
    metal::distributed::MeshCommandQueue queue, other_queue;
    uint64_t next_program = 0, trace_buffer_id = 0, trace_bytes = 0;
    uint64_t next_buffer_within = 0;  // 0: none
    uint32_t next_trace = 0, worker_count = 0;
    uint64_t opening = 0;  // the mesh whose system programs are made
    metal::Program* configured = nullptr;
    bool is_stuck = false;       // binaries stay on their way: nobody says that they arrived
    std::string inspector_says;  // of each launch, before it; empty: the Inspector is off
    bool is_failing = false;     // launches throw when all is done
    bool is_slow = false;        // slow dispatch: no ring, no binaries in DRAM, no status
    void (*enqueue)(metal::distributed::MeshCommandQueue&, metal::distributed::MeshWorkload&, bool) = nullptr;

    /// Makes and compiles one, which is then configured.
    void add_system_program(metal::Device& device, const std::vector<SystemKernel>& kernels);
    void finalize_system_program(metal::Device& device);
    void launch(metal::distributed::MeshCommandQueue& queue, metal::distributed::MeshWorkload& workload);
    void wait_for_all();
    void start_rings(uint64_t count);
    void start_ring_again(uint32_t worker_bytes);
    void take_room(const metal::detail::ProgramImpl& program, bool must_wait_for_all);
};

World& world();

inline constexpr uint32_t kTextOffset = 208;  // of a program's binaries in its room of the ring

/// All its binaries, each padded to 16 bytes.
uint32_t text_bytes(const metal::detail::ProgramImpl& program);

/// Adds a kernel as the runtime does: its source is named first, on the same thread.
void add_kernel(metal::detail::ProgramImpl& program, const std::string& path, metal::Kernel::Form form,
                const std::string& kind);

}  // namespace fake

#endif
