// Kernels: whose they are, on how many cores, and what their binaries take there.
//
// A source is read (KernelSource::from_path), then a kernel made from it joins a program on the same thread
// (ProgramImpl::add_kernel); the sizes of its binaries are known once the program is compiled. Compilers of several
// kernels run on threads of their own; nothing is asked of them.
#include <algorithm>

#include "hook/programs/cores.hpp"
#include "hook/programs/memory.hpp"
#include "hook/runtime.hpp"

namespace ttmem::hook {
namespace {

constexpr uint64_t kCodeAlignment = 16;  // binaries on a core
constexpr uint64_t kPayloadPage = 2048;  // and in DRAM
constexpr uint32_t kBinariesMost = 16;

// The source read last on this thread, until a kernel joins a program: a ttmem_kind, or 0.
thread_local __attribute__((tls_model("initial-exec"))) uint8_t source_kind;
thread_local __attribute__((tls_model("initial-exec"))) uint16_t source_length;  // of its path, the beginning
constexpr uint64_t kPathMost = 240;
thread_local __attribute__((tls_model("initial-exec"))) char source_path[kPathMost];

// std::string and std::filesystem::path begin with these; a std::vector with where it begins and ends.
struct RuntimeText {
    const char* letters;
    uint64_t length;
};

uint64_t up_to(uint64_t size, uint64_t step) noexcept { return (size + step - 1) / step * step; }

bool has_folder(const RuntimeText& path, const char* folder) noexcept {
    const uint64_t length = strlen(folder);
    for (uint64_t i = 0; i + length <= path.length; ++i)
        if ((i == 0 || path.letters[i - 1] == '/') && std::memcmp(path.letters + i, folder, length) == 0) return true;
    return false;
}

uint8_t kind_by_path(const RuntimeText& path) noexcept {
    if (has_folder(path, "tt_metal/fabric/")) return TTMEM_KERNEL_FABRIC;
    return has_folder(path, "tt_metal/impl/dispatch/kernels/") ? TTMEM_KERNEL_DISPATCH : TTMEM_KERNEL_APPLICATION;
}

void note_path(const RuntimeText& path) noexcept {
    source_kind = kind_by_path(path);
    source_length = static_cast<uint16_t>(std::min(path.length, kPathMost));
    if (source_length != 0) std::memcpy(source_path, path.letters, source_length);
}

// ---- what the runtime says of a kernel

// Only the class of a kernel tells how many binaries it has, and its first word tells the class.
uint32_t binary_count_of(const void* kernel) noexcept {
    struct Class {
        Getter table, count;
    };
    constexpr Class kClasses[] = {
        {Getter::data_movement_table, Getter::data_movement_binaries},
        {Getter::compute_table, Getter::compute_binaries},
        {Getter::ethernet_table, Getter::ethernet_binaries},
        {Getter::dram_table, Getter::dram_binaries},
    };
    const char* first = nullptr;
    std::memcpy(&first, kernel, sizeof first);
    for (const Class& one : kClasses) {
        const auto* table = static_cast<const char*>(getter(one.table));
        if (table == nullptr || first != table + 16) continue;  // past the offset to the top and the type
        const auto count = ask<uint8_t>(one.count, 0, kernel);
        return count <= kBinariesMost ? count : 0;
    }
    return 0;
}

// Packed bytes of its binaries, one for each processor that runs it.
struct Binaries {
    uint32_t count = 0;
    uint32_t packed_bytes[kBinariesMost];
};

// A std::vector of pointers, as Kernel::set_binaries is given it.
struct BinaryList {
    const void *const *begin, *const *end;
};

// Releases from 0.70 on give each kernel as many binaries as its class has, and do not call this by name.
void note_binaries(const void* kernel, const BinaryList& binaries) noexcept {
    Memory* all = memory();
    if (all == nullptr) return;
    bool is_hollow = static_cast<uint64_t>(binaries.end - binaries.begin) < binary_count_of(kernel);
    for (const void* const* one = binaries.begin; one != binaries.end; ++one) is_hollow |= *one == nullptr;
    Hollow* hollow = all->hollow.find(word_of(kernel));
    if (is_hollow && hollow == nullptr) {
        hollow = all->hollow.add(word_of(kernel));
        if (hollow != nullptr) hollow->kernel = kernel;
        if (hollow == nullptr) all->has_lost_hollow.store(true, std::memory_order_release);
    } else if (!is_hollow && hollow != nullptr) {  // another kernel was there before
        all->hollow.remove(hollow);
    }
}

bool may_be_asked(const void* kernel) noexcept {
    Memory* all = memory();
    return all != nullptr && !all->has_lost_hollow.load(std::memory_order_acquire) &&
           all->hollow.find(word_of(kernel)) == nullptr;
}

void read_binaries(const Part& part, const void* device, Binaries& binaries) noexcept {
    auto* packed_size = getter_as<uint32_t(const void*, const void*, int)>(Getter::kernel_packed_size);
    binaries.count = packed_size == nullptr || !may_be_asked(part.object) ? 0 : binary_count_of(part.object);
    for (uint32_t i = 0; i < binaries.count; ++i)
        binaries.packed_bytes[i] = packed_size(part.object, device, static_cast<int>(i));
}

void take_sizes(Part& part, const Binaries& binaries) noexcept {
    part.size_bytes = part.padded_bytes = 0;
    for (uint32_t i = 0; i < binaries.count; ++i) {
        part.size_bytes += up_to(binaries.packed_bytes[i], kCodeAlignment);
        part.padded_bytes += up_to(binaries.packed_bytes[i], kPayloadPage);
    }
}

void read_cores(Part& part) noexcept {
    auto* ranges_of = getter_as<void(CoreRange**, const void*)>(Getter::kernel_core_ranges);
    auto* release = getter_as<void(void*)>(Getter::operator_delete);
    if (ranges_of == nullptr || release == nullptr) return;
    CoreRange* ranges[3] = {};
    ranges_of(ranges, part.object);
    uint64_t count = 0;
    for (const CoreRange* range = ranges[0]; range != ranges[1]; ++range) count += range->core_count();
    if (ranges[0] != nullptr) release(ranges[0]);
    part.core_count = static_cast<uint16_t>(count);
}

// The text of a kernel's site, as kernel_name.hpp has it.
class KernelText {
public:
    // Of the runtime's "name/hash/" the first is what users know it by.
    void begin(const RuntimeText* name) noexcept {
        if (name == nullptr) return;
        length_ = static_cast<uint32_t>(std::min<uint64_t>(name->length, kNameMost));
        if (length_ != 0) std::memcpy(letters_, name->letters, length_);
        if (const void* slash = std::memchr(letters_, '/', length_))
            length_ = static_cast<uint32_t>(static_cast<const char*>(slash) - letters_);
    }
    void add(const Binaries& binaries) noexcept {
        for (uint32_t i = 0; i < binaries.count; ++i) {
            letters_[length_++] = i == 0 ? '\0' : ',';
            add(binaries.packed_bytes[i]);
        }
    }
    uint32_t interned() const noexcept { return ttmem_intern(letters_, length_); }

private:
    static constexpr uint32_t kNameMost = 512, kSizeMost = 11;  // a comma and ten digits

    void add(uint32_t size) noexcept {
        char digits[kSizeMost];
        uint32_t count = 0;
        do digits[count++] = static_cast<char>('0' + size % 10);
        while ((size /= 10) != 0);
        while (count != 0) letters_[length_++] = digits[--count];
    }

    uint32_t length_ = 0;
    char letters_[kNameMost + kSizeMost * kBinariesMost];
};

void read_name(Part& part, const Binaries& binaries) noexcept {
    KernelText text;
    text.begin(ask<const RuntimeText*>(Getter::kernel_name, nullptr, part.object));
    text.add(binaries);
    part.site = text.interned();
}

// The rule of the allocation server protocol multiplies by all cores of the program: a list of cores for each core type.
uint16_t cores_of_program(const void* impl) noexcept {
    struct List {
        char *begin, *end, *room;
    };
    auto* cores_of = getter_as<void(List*, const void*)>(Getter::program_cores);
    auto* release = getter_as<void(void*)>(Getter::operator_delete);
    if (cores_of == nullptr || release == nullptr) return 0;
    List lists{};
    cores_of(&lists, impl);
    uint64_t count = 0;
    for (auto* list = reinterpret_cast<List*>(lists.begin); list != reinterpret_cast<List*>(lists.end); ++list) {
        count += static_cast<uint64_t>(list->end - list->begin) / (2 * sizeof(uint64_t));
        if (list->begin != nullptr) release(list->begin);
    }
    if (lists.begin != nullptr) release(lists.begin);
    return static_cast<uint16_t>(count);
}

// ---- what is reported

uint8_t pool_of(uint8_t kind, uint8_t core_type) noexcept {
    if (kind == TTMEM_KERNEL_DISPATCH) return TTMEM_DISPATCH;
    if (core_type == TTMEM_ACTIVE_ETH || core_type == TTMEM_IDLE_ETH) return TTMEM_ETH;
    return kind == TTMEM_KERNEL_FABRIC && core_type == TTMEM_CORE_UNKNOWN ? TTMEM_ETH : TTMEM_KERNEL;
}

void report_kernel(const Program& program, Part& part) noexcept {
    const uint8_t kind = program.owner != 0 ? program.owner : part.kind;
    ttmem_kernel kernel{};
    kernel.id = program.number << kNumberBits | part.number;
    kernel.program = program.id;
    kernel.binary_bytes = part.size_bytes;
    kernel.exact_bytes = part.size_bytes * part.core_count;
    kernel.binary_times_cores_bytes = part.padded_bytes * program.core_count;
    kernel.site = part.site;
    kernel.core_count = part.core_count;
    kernel.target = program.target;
    kernel.kind = kind == 0 ? uint8_t{TTMEM_KERNEL_APPLICATION} : kind;
    kernel.options = TTMEM_BY_HANDLE;
    kernel.pool = pool_of(kind, part.core_type);
    kernel.core_type = part.core_type;
    kernel.found_by = program.owner != 0 ? uint8_t{TTMEM_FOUND_OWNER} : part.found_by;
    if (part.handle == 0) log_kernel(program, kernel);  // else it is only told again, as another owner's
    part.handle = ttmem_kernel_load(&kernel);
}

void note_kernel(const void* impl, const void* kernel, int core_type, uint32_t handle) noexcept {
    Program* program = find_or_add_program(impl);
    Part* part = program == nullptr ? nullptr : append_part(&program->kernels, handle & ((1u << kNumberBits) - 1));
    const uint8_t kind = source_kind;
    source_kind = 0;
    if (part == nullptr) return;
    note_source(*program, source_path, source_length);
    source_length = 0;
    part->object = kernel;
    part->kind = kind;
    part->found_by = kind == 0 ? uint8_t{TTMEM_FOUND_UNKNOWN} : uint8_t{TTMEM_FOUND_PATH};
    const bool is_known = core_type >= 0 && core_type < TTMEM_CORE_TYPE_COUNT - 1;
    part->core_type = is_known ? static_cast<uint8_t>(core_type + 1) : uint8_t{TTMEM_CORE_UNKNOWN};
}

void note_compiled(const void* impl, const void* device) noexcept {
    Program* program = find_program(impl);
    if (program == nullptr || program->kernels == 0) return;
    const bool is_settled = settle(*program, device);
    if (program->is_compiled) return;
    program->is_compiled = true;
    program->core_count = cores_of_program(impl);
    Memory& all = *memory();
    for (uint32_t cell = program->kernels; cell != 0; cell = all.cells.at<Part>(cell).next) {
        Part& part = all.cells.at<Part>(cell);
        Binaries binaries;
        read_binaries(part, device, binaries);
        take_sizes(part, binaries);
        read_cores(part);
        read_name(part, binaries);
    }
    if (is_settled)
        report_kernels(*program);
    else if (program->mesh == nullptr)
        all.waiting.fetch_add(1, std::memory_order_release);
}

}  // namespace

void report_kernels(Program& program) noexcept {
    Memory& all = *memory();
    for (uint32_t cell = program.kernels; cell != 0; cell = all.cells.at<Part>(cell).next)
        report_kernel(program, all.cells.at<Part>(cell));
    if (program.is_entered || !program.is_in_workload) return;
    program.is_entered = true;
    ttmem_binary_status(program.target, program.id, TTMEM_NOT_SENT, 0);
    name_program(program);
}

void claim_for_owner(const void* impl) noexcept {
    const uint8_t owner = context().owner;
    Program* program = find_program(impl);
    if (owner == 0 || program == nullptr || program->owner == owner) return;
    program->owner = owner;
    if (!program->is_compiled || !is_reportable(*program)) return;
    Memory& all = *memory();
    for (uint32_t cell = program->kernels; cell != 0; cell = all.cells.at<Part>(cell).next)
        ttmem_free(all.cells.at<Part>(cell).handle);
    report_kernels(*program);
}

namespace {

uint64_t call_as_owner(void* real, const uint64_t (&arguments)[6], uint8_t owner) {
    Context before = context();
    context().owner = owner;
    return call_within(real, arguments, before).low;
}

}  // namespace
}  // namespace ttmem::hook

using ttmem::hook::Hook;

TTMEM_INTERPOSE(source_from_path, void*, (void* result, uint64_t runtime_context, const void* path)) {
    ttmem::hook::forget_unloaded();  // a program may be made before any mesh
    auto* real = ttmem::hook::original_as<void*(void*, uint64_t, const void*)>(Hook::source_from_path);
    if (TTMEM_ON) ttmem::hook::note_path(*static_cast<const ttmem::hook::RuntimeText*>(path));
    return real(result, runtime_context, path);
}

// Before 0.77: a path, or the text of a kernel.
TTMEM_INTERPOSE(source_made, void, (void* self, const void* source, const int* type)) {
    ttmem::hook::forget_unloaded();  // a program may be made before any mesh
    auto* real = ttmem::hook::original_as<void(void*, const void*, const int*)>(Hook::source_made);
    if (TTMEM_ON && *type == 0) ttmem::hook::note_path(*static_cast<const ttmem::hook::RuntimeText*>(source));
    real(self, source, type);
}

TTMEM_INTERPOSE(add_kernel, uint64_t, (void* program, void* const* kernel, const int* core_type)) {
    ttmem::hook::forget_unloaded();  // a program may be made before any mesh
    auto* real = ttmem::hook::original_as<uint64_t(void*, void* const*, const int*)>(Hook::add_kernel);
    const uint64_t handle = real(program, kernel, core_type);
    if (TTMEM_ON) ttmem::hook::note_kernel(program, *kernel, *core_type, static_cast<uint32_t>(handle));
    return handle;
}

TTMEM_INTERPOSE(set_binaries, void, (void* kernel, uint64_t build_key, const void* binaries)) {
    auto* real = ttmem::hook::original_as<void(void*, uint64_t, const void*)>(Hook::set_binaries);
    if (TTMEM_ON) ttmem::hook::note_binaries(kernel, *static_cast<const ttmem::hook::BinaryList*>(binaries));
    if (real != nullptr) real(kernel, build_key, binaries);
}

TTMEM_INTERPOSE(program_compile_finished, void, (const void* program, const void* device, uint64_t build_key)) {
    auto* real = ttmem::hook::original_as<void(const void*, const void*, uint64_t)>(Hook::program_compile_finished);
    if (TTMEM_ON) ttmem::hook::note_compiled(program, device);
    if (real != nullptr) real(program, device, build_key);
}

TTMEM_INTERPOSE(program_compile_already_exists, void, (const void* program, const void* device, uint64_t build_key)) {
    auto* real =
        ttmem::hook::original_as<void(const void*, const void*, uint64_t)>(Hook::program_compile_already_exists);
    if (TTMEM_ON) ttmem::hook::note_compiled(program, device);
    if (real != nullptr) real(program, device, build_key);
}

TTMEM_INTERPOSE(program_finalize_offsets, uint64_t, (void* program, void* device)) {
    auto* real = ttmem::hook::original_as<uint64_t(void*, void*)>(Hook::program_finalize_offsets);
    if (TTMEM_ON && ttmem::hook::context().owner != 0) ttmem::hook::claim_for_owner(program);
    return real(program, device);
}

TTMEM_INTERPOSE(configure_fabric, uint64_t, (void* device)) {
    void* real = ttmem::hook::original(Hook::configure_fabric);
    return ttmem::hook::call_as_owner(real, {ttmem::hook::word_of(device)}, TTMEM_KERNEL_FABRIC);
}

TTMEM_INTERPOSE(configure_command_queues, uint64_t, (void* device, void* topology)) {
    void* real = ttmem::hook::original(Hook::configure_command_queues);
    return ttmem::hook::call_as_owner(real, {ttmem::hook::word_of(device), ttmem::hook::word_of(topology)},
                                      TTMEM_KERNEL_DISPATCH);
}
