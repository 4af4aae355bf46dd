// The stand-in's classes: named as those of the runtime, so that their functions are exported under the same names.
//
// Only what a preloaded library can see is alike: names, arguments, results, and who calls whom in which order. Members
// lie as they please, except where the runtime's own layout is visible from outside: a workload and a program begin with
// a pointer to what they hold, a device with its table of virtual functions, and a core range is four words.
#ifndef FAKE_METAL_RUNTIME_HPP
#define FAKE_METAL_RUNTIME_HPP

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

// As the standard library's, which takes long to read: a text first, and what it was parted into.
namespace std::filesystem {
inline namespace __cxx11 {
class path {
public:
    std::string text;
    void* parts = nullptr;
};
}  // namespace __cxx11
}  // namespace std::filesystem

namespace ttsl {
template <class T, class Tag>
struct StrongType {
    T value;
};
}  // namespace ttsl

namespace tt {
struct xy_pair {
    uint64_t x, y;
    bool operator==(const xy_pair&) const = default;
};
enum class ARCH { GRAYSKULL = 1, WORMHOLE_B0 = 2, BLACKHOLE = 3 };
enum class BoardType : uint32_t { N150 = 3 };
std::string get_string_lowercase(ARCH arch) __attribute__((abi_tag("cxx11")));
std::string board_type_to_string(BoardType board) __attribute__((abi_tag("cxx11")));
namespace umd {
class ClusterDescriptor {
public:
    const std::unordered_map<int, uint64_t>& get_chip_unique_ids() const;
    std::unordered_map<int, uint64_t> unique_ids;
};
}  // namespace umd
class Cluster {
public:
    umd::ClusterDescriptor* get_cluster_desc() const;
    BoardType get_board_type(int chip) const;
};
}  // namespace tt

template <>
struct std::hash<tt::xy_pair> {
    size_t operator()(const tt::xy_pair& core) const noexcept { return core.x << 16 ^ core.y; }
};

namespace tt::tt_metal {

struct CoreRange {
    xy_pair start, end;
};

enum class HalMemType : uint8_t { L1, DRAM };
enum class BufferType { DRAM, L1, SYSTEM_MEMORY, L1_SMALL, TRACE };
enum class ProgramBinaryStatus : uint8_t { NotSent, InFlight, Committed };
enum class HalProgrammableCoreType { TENSIX, ACTIVE_ETH, IDLE_ETH };
struct ContextIdTag;
using ContextId = ttsl::StrongType<int, ContextIdTag>;
class AllocatorImpl;
class Buffer;
class DispatchTopology;
class JitBuildOptions {};
struct KernelGroup {};

class IDevice {
public:
    virtual ~IDevice() = default;
    virtual ARCH arch() const = 0;
    virtual int id() const = 0;  // the fourth virtual function, as in the runtime
};

class CoreRangeSet {
public:
    explicit CoreRangeSet(std::vector<CoreRange> ranges) : ranges_(std::move(ranges)) {}
    uint32_t num_cores() const;
    const std::vector<CoreRange>& ranges() const;

private:
    std::vector<CoreRange> ranges_;
};

struct Statistics {
    uint64_t total_bytes, allocated_bytes, free_bytes, largest_free_bytes;
};

// What users may ask of an allocator.
class Allocator {
public:
    explicit Allocator(AllocatorImpl* impl);
    uint32_t get_num_banks(const BufferType& type) const;
    uint64_t get_bank_size(const BufferType& type) const;
    Statistics get_statistics(const BufferType& type) const;
    uint32_t get_alignment(BufferType type) const;
    uint32_t get_base_allocator_addr(const HalMemType& memory) const;

private:
    AllocatorImpl* impl_;
};

// One list of blocks for all banks of a type; or that of one core.
struct Banks {
    uint64_t base = 0, size_bytes = 0;
    uint32_t count = 0;
    std::map<uint64_t, uint64_t> blocks;  // address, size in each bank

    std::optional<uint64_t> place(uint64_t size_bytes_per_bank, bool is_bottom_up) const;
    Statistics statistics() const;
};

class AllocatorImpl {
public:
    AllocatorImpl();
    uint64_t allocate_buffer(Buffer* buffer);
    void deallocate_buffer(Buffer* buffer);
    const std::unique_ptr<Allocator>& view() const;
    std::array<Banks, 5> banks;
    std::unordered_map<xy_pair, Banks> cores;  // L1 of those that hold what is allocated by core
    static thread_local bool is_ending_thread;

private:
    uint64_t allocate_by_core(Buffer& buffer);
    std::unique_ptr<Allocator> view_;
};

class Buffer {
public:
    struct Form {
        uint64_t id, size_bytes, page_bytes;
        BufferType type;
        bool is_bottom_up = true;
        uint32_t core_count = 0;  // of a sharded one
        uint8_t layout = 0;
        std::vector<xy_pair> cores = {};  // of one that is allocated by core
    };
    Buffer(IDevice* device, AllocatorImpl* allocator, const Form& form);
    ~Buffer();
    uint64_t unique_id() const;
    uint32_t address() const;
    uint64_t size() const;
    uint64_t page_size() const;
    uint64_t aligned_page_size() const;
    uint64_t aligned_size_per_bank() const;
    BufferType buffer_type() const;
    uint8_t buffer_layout() const;
    IDevice* device() const;
    std::optional<uint32_t> num_cores() const;
    Allocator* allocator() const;
    bool is_allocated() const;
    bool is_dram() const;
    bool is_l1() const;
    bool is_trace() const;  // of older releases
    uint32_t num_pages() const;

    const Form form;
    bool is_hooked = false;  // under a capture that allocates nothing
    uint64_t place = 0;
    std::unordered_map<xy_pair, uint64_t> core_places;
    IDevice* const holder;
    AllocatorImpl* const owner;
};

namespace experimental::per_core_allocation {
bool is_per_core_allocation(const Buffer& buffer);
const std::unordered_map<xy_pair, uint64_t>& get_per_core_addresses(const Buffer& buffer);
}  // namespace experimental::per_core_allocation

class GraphTracker {
public:
    static GraphTracker& instance();
    void track_allocate(const Buffer* buffer);
    void track_deallocate(Buffer* buffer);
    bool hook_allocate(const Buffer* buffer);
    bool hook_deallocate(Buffer* buffer);
    void track_allocate_cb(const CoreRangeSet& cores, uint64_t address, uint64_t size, bool is_global,
                           const IDevice* device);
    void track_deallocate_cb(const IDevice* device);
    bool is_capturing_only = false;  // NO_DISPATCH
};

}  // namespace tt::tt_metal

#endif
