// The client's calls of this module. Their code is not in it: a package has that once, in the library for C and C++ hosts
// beside the module, and whoever owns the journal of this process is asked there (writer/owner.hpp).
//
// The library is opened by its path: by its name alone the loader would take any other that a host brought along.
#include "python/client/library.hpp"

#include <dlfcn.h>

#include <cstddef>

#include "ttmem/client.h"
#include "writer/owner.hpp"

int ttmem_tracking = 0;  // equal to the owner's from `open_library` on

namespace ttmem {
namespace {

const WriterTable* the_owner = nullptr;

std::string library_path() {
    Dl_info own{};
    if (dladdr(&the_owner, &own) == 0 || own.dli_fname == nullptr) return {};
    const std::string module{own.dli_fname};
    return module.substr(0, module.rfind('/') + 1) + "lib/" TTMEM_CLIENT_LIBRARY;
}

}  // namespace

std::string open_library() {
    const std::string path = library_path();
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) return dlerror();
    const auto ask = reinterpret_cast<const WriterTable* (*)()>(dlsym(library, "ttmem_owner_v1"));
    if (ask == nullptr) return path + " is of another version; install ttmem again";
    the_owner = ask();
    the_owner->share_switch(&ttmem_tracking);
    return {};
}

const WriterTable& owner() noexcept { return *the_owner; }

}  // namespace ttmem

#define TTMEM_PASS_ON(type, call, field, parameters, ...) \
    type call parameters { return ttmem::the_owner->field(__VA_ARGS__); }

// What a copy of a host may be too old for: then nothing is reported.
#define TTMEM_PASS_ON_IF_THERE(call, field, parameters, ...)                                                \
    void call parameters {                                                                                  \
        constexpr size_t kNeeded = offsetof(ttmem::WriterTable, field) + sizeof(ttmem::WriterTable::field); \
        if (ttmem::the_owner->bytes >= kNeeded) ttmem::the_owner->field(__VA_ARGS__);                       \
    }

extern "C" {

TTMEM_PASS_ON(int, ttmem_enable, enable, (const char* directory), directory)
TTMEM_PASS_ON(void, ttmem_disable, disable, ())
TTMEM_PASS_ON(const char*, ttmem_journal_path, journal_path, ())
TTMEM_PASS_ON(void, ttmem_python_sites, python_sites, (int is_on), is_on)
TTMEM_PASS_ON(uint32_t, ttmem_python_site_on, python_site, ())
TTMEM_PASS_ON(uint16_t, ttmem_device_open_on, device_open, (const ttmem_device* device), device)
TTMEM_PASS_ON(uint16_t, ttmem_mesh_open_on, mesh_open,
              (uint64_t mesh_id, uint16_t rows, uint16_t columns, const uint16_t* chips, uint32_t chip_count), mesh_id,
              rows, columns, chips, chip_count)
TTMEM_PASS_ON(void, ttmem_target_close_on, target_close, (uint16_t target), target)
TTMEM_PASS_ON(ttmem_handle, ttmem_buffer_alloc_on, buffer_alloc, (const ttmem_buffer* buffer), buffer)
TTMEM_PASS_ON(ttmem_handle, ttmem_core_buffer_alloc_on, core_buffer_alloc, (const ttmem_core_buffer* buffer), buffer)
TTMEM_PASS_ON(ttmem_handle, ttmem_cb_alloc_on, cb_alloc, (const ttmem_circular_buffer* cb), cb)
TTMEM_PASS_ON(ttmem_handle, ttmem_kernel_load_on, kernel_load, (const ttmem_kernel* kernel), kernel)
TTMEM_PASS_ON(void, ttmem_free_on, free_handle, (ttmem_handle handle), handle)
TTMEM_PASS_ON(void, ttmem_free_id_on, free_id,
              (uint16_t target, uint8_t kind, uint64_t id, uint8_t pool, uint64_t bytes), target, kind, id, pool, bytes)
TTMEM_PASS_ON(void, ttmem_binaries_placed_on, binaries_placed,
              (uint16_t target, uint64_t program, uint8_t status, uint64_t bytes, uint64_t address), target, program,
              status, bytes, address)
TTMEM_PASS_ON(void, ttmem_launch_on, launch, (uint16_t target, uint64_t program), target, program)
TTMEM_PASS_ON(void, ttmem_out_of_memory_on, out_of_memory,
              (uint16_t target, uint8_t pool, uint64_t requested_bytes, uint64_t free_bytes,
               uint64_t largest_free_bytes),
              target, pool, requested_bytes, free_bytes, largest_free_bytes)
TTMEM_PASS_ON(void, ttmem_clash_on, clash, (const ttmem_cb_clash* clash), clash)
TTMEM_PASS_ON(void, ttmem_incident_on, incident, (const ttmem_incident* incident), incident)
TTMEM_PASS_ON(void, ttmem_ring_on, ring_state, (const ttmem_ring_state* state), state)
TTMEM_PASS_ON(void, ttmem_cache_on, cache_answer, (const ttmem_cache_answer* answer), answer)
TTMEM_PASS_ON(uint32_t, ttmem_stack_node_on, stack_node,
              (uint32_t parent, uint8_t kind, const char* name, const char* file, uint32_t line), parent, kind, name,
              file, line)
TTMEM_PASS_ON(uint32_t, ttmem_intern_on, intern, (const char* text, uint32_t length), text, length)
TTMEM_PASS_ON(uint32_t, ttmem_phase_begin_on, phase_begin, (uint32_t name), name)
TTMEM_PASS_ON(void, ttmem_phase_end_on, phase_end, (uint32_t phase), phase)
TTMEM_PASS_ON(void, ttmem_reset_peaks_on, reset_peaks, (uint16_t target), target)
TTMEM_PASS_ON(void, ttmem_label_on, label, (const char* text), text)
TTMEM_PASS_ON_IF_THERE(ttmem_program_operation_on, program_operation,
                       (uint16_t target, uint64_t program, uint32_t site), target, program, site)
TTMEM_PASS_ON_IF_THERE(ttmem_trace_begin_on, trace_begin, (uint16_t target, uint64_t trace, uint32_t site), target,
                       trace, site)
TTMEM_PASS_ON_IF_THERE(ttmem_trace_program_on, trace_program, (uint16_t target, uint64_t trace, uint64_t program),
                       target, trace, program)
TTMEM_PASS_ON_IF_THERE(ttmem_trace_end_on, trace_end, (uint16_t target, uint64_t trace, uint64_t bytes), target, trace,
                       bytes)
TTMEM_PASS_ON_IF_THERE(ttmem_trace_replay_on, trace_replay, (uint16_t target, uint64_t trace), target, trace)
TTMEM_PASS_ON_IF_THERE(ttmem_trace_release_on, trace_release, (uint16_t target, uint64_t trace), target, trace)
}

#undef TTMEM_PASS_ON_IF_THERE
#undef TTMEM_PASS_ON
