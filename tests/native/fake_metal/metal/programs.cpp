#include "programs.hpp"

#include <pthread.h>

#include <cstdlib>
#include <utility>

#include "../tallies.hpp"
#include "devices.hpp"

using fake::Arrived;
using fake::Asked;

namespace tt::tt_metal {
namespace {

constexpr uint64_t kBuildKey = 2752194815558545679;

struct Compiler {
    const detail::ProgramImpl* program;
    const IDevice* device;
    const std::shared_ptr<Kernel>* kernel;
    pthread_t thread;
};

// Told on a thread of its own, as the runtime's compilers do.
void* kernel_compiled(void* given) {
    static const JitBuildOptions options;
    const auto& [program, device, compiled, thread] = *static_cast<Compiler*>(given);
    const auto& kernel = *compiled;
    const std::string path = "cache/tt-metal-cache" + std::to_string(kBuildKey) + "/kernels/";
    std::vector<const ll_api::memory*> binaries(fake::board.has_binaries ? kernel->expected_num_binaries() : 0,
                                                reinterpret_cast<const ll_api::memory*>(&kernel->form));
    Asked setting("set_binaries", kernel.get(), kBuildKey, &binaries);
    kernel->set_binaries(kBuildKey, std::move(binaries));
    setting.back();
    kernel->is_compiled = true;
    Asked call("program_kernel_compile_finished", program, device, &kernel, &options, &path);
    Inspector::program_kernel_compile_finished(program, device, kernel, options, path);
    call.back();
    return nullptr;
}

}  // namespace

KernelSource::KernelSource(std::string text, SourceType kind, std::filesystem::path from)
    : source(std::move(text)), type(kind), path(std::move(from)) {}
KernelSource::KernelSource(const std::string& source_or_path, const SourceType& kind)
    : source(source_or_path), type(kind) {
    const Arrived here("old_kernel_source", this, &source_or_path, &kind);
}
KernelSource KernelSource::from_path(ContextId context, const std::filesystem::path& path) {
    const Arrived here("from_path", context.value, &path);
    return {path.text, FILE_PATH, path};
}

Kernel::Kernel(Form asked) : form(std::move(asked)), full_name_(form.name + "/1234567890/") {}
Kernel::~Kernel() = default;
std::string Kernel::name() const { return form.name; }
const std::string& Kernel::get_full_kernel_name() const { return full_name_; }
void Kernel::set_binaries(uint64_t build_key, std::vector<const ll_api::memory*>&& given) {
    const Arrived here("set_binaries", this, build_key, &given);
    binaries = std::move(given);
}
// As the runtime does: of a kernel that has none, whatever lies behind a null pointer.
uint32_t Kernel::get_binary_packed_size(IDevice*, int index) const {
    if (is_compiled && static_cast<size_t>(index) >= binaries.size()) std::abort();
    return is_compiled ? form.packed_bytes.at(static_cast<size_t>(index)) : 0;
}
std::vector<CoreRange> Kernel::logical_coreranges() const { return form.cores; }
HalProgrammableCoreType Kernel::get_kernel_core_type() const { return form.core_type; }
DataMovementKernel::~DataMovementKernel() = default;
uint8_t DataMovementKernel::expected_num_binaries() const { return 1; }
ComputeKernel::~ComputeKernel() = default;
uint8_t ComputeKernel::expected_num_binaries() const { return 3; }
DramKernel::~DramKernel() = default;
uint8_t DramKernel::expected_num_binaries() const { return 1; }
EthernetKernel::~EthernetKernel() = default;
uint8_t EthernetKernel::expected_num_binaries() const { return 1; }

namespace detail {

ProgramImpl::ProgramImpl(uint64_t id) : id_(id) {
    Asked call("program_created", this);
    Inspector::program_created(this);
    call.back();
}
ProgramImpl::~ProgramImpl() {
    if (has_places) {
        Asked call("deallocate_circular_buffers", this);
        deallocate_circular_buffers();
        call.back();
    }
    Asked call("program_destroyed", this);
    Inspector::program_destroyed(this);
    call.back();
}
uint64_t ProgramImpl::get_id() const { return id_; }

uint32_t ProgramImpl::add_kernel(const std::shared_ptr<Kernel>& kernel, const HalProgrammableCoreType& core_type) {
    const Arrived here("add_kernel", this, &kernel, static_cast<int>(core_type));
    kernels.push_back(kernel);
    return fake::gave("add_kernel", static_cast<uint32_t>(kernels.size() - 1));
}

void ProgramImpl::compile(IDevice* device, bool) {
    if (std::exchange(is_compiled, true)) {
        Asked call("program_compile_already_exists", this, device, kBuildKey);
        Inspector::program_compile_already_exists(this, device, kBuildKey);
        return call.back();
    }
    Compiler compilers[8];
    for (size_t i = 0; i < kernels.size(); ++i) {
        compilers[i] = {this, device, &kernels[i], {}};
        pthread_create(&compilers[i].thread, nullptr, kernel_compiled, &compilers[i]);
    }
    for (size_t i = 0; i < kernels.size(); ++i) pthread_join(compilers[i].thread, nullptr);
    Asked call("program_compile_finished", this, device, kBuildKey);
    Inspector::program_compile_finished(this, device, kBuildKey);
    call.back();
}

std::span<const std::shared_ptr<CircularBufferImpl>> ProgramImpl::circular_buffers() const { return cbs; }
// All cores of its kernels: by type of core, each once.
std::vector<std::vector<xy_pair>> ProgramImpl::logical_cores() const {
    std::vector<std::vector<xy_pair>> all(3);
    for (uint64_t x = 0; x < 16; ++x)
        for (uint64_t y = 0; y < 16; ++y)
            for (size_t type = 0; type < all.size(); ++type)
                if (runs_on({x, y}, type)) all[type].push_back({x, y});
    return all;
}
bool ProgramImpl::runs_on(const xy_pair& core, size_t core_type) const {
    for (const auto& kernel : kernels)
        for (const auto& range : kernel->form.cores)
            if (static_cast<size_t>(kernel->form.core_type) == core_type && holds(range, core)) return true;
    return false;
}
void ProgramImpl::finalize_offsets(IDevice* device) { const Arrived here("program_finalize_offsets", this, device); }
size_t ProgramImpl::num_kernels() const { return kernels.size(); }

}  // namespace detail

void Inspector::program_created(const detail::ProgramImpl* program) { const Arrived here("program_created", program); }
void Inspector::program_destroyed(const detail::ProgramImpl* program) {
    const Arrived here("program_destroyed", program);
}
void Inspector::program_compile_started(const detail::ProgramImpl*, const IDevice*, uint64_t) {}
void Inspector::program_compile_finished(const detail::ProgramImpl* program, const IDevice* device,
                                         uint64_t build_key) {
    const Arrived here("program_compile_finished", program, device, build_key);
}
void Inspector::program_compile_already_exists(const detail::ProgramImpl* program, const IDevice* device,
                                               uint64_t build_key) {
    const Arrived here("program_compile_already_exists", program, device, build_key);
}
void Inspector::program_kernel_compile_finished(const detail::ProgramImpl* program, const IDevice* device,
                                                const std::shared_ptr<Kernel>& kernel, const JitBuildOptions& options,
                                                const std::string& path) {
    const Arrived here("program_kernel_compile_finished", program, device, &kernel, &options, &path);
}

}  // namespace tt::tt_metal
