// One writer per process, however many copies of this code are loaded.
//
// The preload hook, the library beside the Python module and a host's own may each carry a copy. Every copy exports
// `ttmem_writer_v1`; the first one in the order of the loaded objects owns the process's journal, and the others send
// their calls through its table. The order never changes while a process runs (later objects are appended,
// and copies in use pin themselves), so all copies come to the same answer without talking.
#pragma once

#include <atomic>
#include <cstdint>

#include "ttmem/client.h"

namespace ttmem {

struct Mapping {  // where the owner's journal is, for a collector inside the reporting process
    const void* base;
    uint64_t bytes;
    uint64_t device, inode;
};

// The functions of one copy. Fields are only ever appended; `bytes` says which are there. `version` is another when what
// they are handed has changed: such copies cannot share a writer.
struct WriterTable {
    uint32_t version;
    uint32_t bytes;
    int (*enable)(const char*);
    void (*disable)();
    const char* (*journal_path)();
    int (*would_write)();
    int (*mapping)(Mapping*);
    void (*share_switch)(int*);  // a copy's inlined switch, to be kept equal to the owner's
    uint16_t (*device_open)(const ttmem_device*);
    uint16_t (*mesh_open)(uint64_t, uint16_t, uint16_t, const uint16_t*, uint32_t);
    void (*target_close)(uint16_t);
    ttmem_handle (*buffer_alloc)(const ttmem_buffer*);
    ttmem_handle (*cb_alloc)(const ttmem_circular_buffer*);
    ttmem_handle (*kernel_load)(const ttmem_kernel*);
    void (*free_handle)(ttmem_handle);
    void (*free_id)(uint16_t, uint8_t, uint64_t, uint8_t, uint64_t);
    void (*binary_status)(uint16_t, uint64_t, uint8_t, uint64_t);
    void (*launch)(uint16_t, uint64_t);
    void (*out_of_memory)(uint16_t, uint8_t, uint64_t, uint64_t, uint64_t);
    uint32_t (*intern)(const char*, uint32_t);
    uint32_t (*phase_begin)(uint32_t);
    void (*phase_end)(uint32_t);
    void (*label)(const char*);
    void (*ring_state)(const ttmem_ring_state*);
    void (*cache_answer)(const ttmem_cache_answer*);
    void (*clash)(const ttmem_cb_clash*);
    void (*set_site_source)(ttmem_site_source);
    void (*reset_peaks)(uint16_t);
    void (*binaries_placed)(uint16_t, uint64_t, uint8_t, uint64_t, uint64_t);
    ttmem_handle (*core_buffer_alloc)(const ttmem_core_buffer*);
    void (*unreported)(uint64_t);
    void (*incident)(const ttmem_incident*);
    uint32_t (*stack_node)(uint32_t, uint8_t, const char*, const char*, uint32_t);
    void (*python_sites)(int);
    uint32_t (*python_site)();
    void (*program_operation)(uint16_t, uint64_t, uint32_t);
    void (*trace_begin)(uint16_t, uint64_t, uint32_t);
    void (*trace_program)(uint16_t, uint64_t, uint64_t);
    void (*trace_end)(uint16_t, uint64_t, uint64_t);
    void (*trace_replay)(uint16_t, uint64_t);
    void (*trace_release)(uint16_t, uint64_t);
};

/// The owner's table, or null before it was found.
extern __attribute__((visibility("hidden"))) std::atomic<const WriterTable*> found_owner;

/// The owner's table; found when this copy is loaded (the hook's: at its first call), and the same ever after.
const WriterTable& owner() noexcept;

/// True when this very copy owns the journal.
bool is_owner() noexcept;

/// The same, once the owner was found.
inline bool is_found_owner() noexcept;

/// Registers another copy's inlined switch.
void share_switch(int* copy) noexcept;

/// Sets the inlined switch of this copy and of every copy that shares this writer.
void notify_copies(bool is_on) noexcept;

}  // namespace ttmem

extern "C" TTMEM_DATA const ttmem::WriterTable ttmem_writer_v1;

/// The owner's table, for a module that has no copy of its own: the Python module asks the library beside it.
extern "C" TTMEM_DATA const ttmem::WriterTable* ttmem_owner_v1(void);

/// The same table, by a name that cannot be any other process's: a loader binds the exported one to the first copy it finds,
/// so a copy that compared with it would take itself for that one.
extern "C" __attribute__((visibility("hidden"))) const ttmem::WriterTable ttmem_own_writer;

inline bool ttmem::is_found_owner() noexcept {
    return found_owner.load(std::memory_order_acquire) == &ttmem_own_writer;
}
