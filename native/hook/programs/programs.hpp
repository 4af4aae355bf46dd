// Programs as the runtime knows them, and what of each is in the journal.
//
// A program is reported by the runtime's own number (0 as TTMEM_PROGRAM_ZERO), its kernels as (number << 12 | handle), its
// circular buffers as (number << 12 | their place in it).
// Pointers are used again at once when a program ends, numbers never.
#pragma once

#include "hook/devices.hpp"
#include "hook/programs/context.hpp"
#include "hook/programs/tables.hpp"
#include "ttmem/client.h"

namespace ttmem::hook {

inline constexpr uint32_t kNumberBits = 12;  // of a kernel or circular buffer within its program

/// A kernel, circular buffer, dataflow buffer or scratchpad of a program.
struct Part {
    uint32_t next;
    uint32_t number;  // a kernel's handle, or which one of its kind
    ttmem_handle handle;
    const void* object;     // the runtime's Kernel or CircularBufferImpl; alive as long as its program
    uint64_t size_bytes;    // on one core
    uint64_t padded_bytes;  // of a kernel: its binaries, each in whole pages
    uint32_t address;
    uint32_t core_set;  // interned
    uint32_t site;
    uint16_t core_count;
    uint8_t kind, core_type, found_by;
    bool is_view;
};

/// Where in a mesh a program runs; all of it, unless said otherwise.
struct Place {
    uint16_t row, column, row_end, column_end;  // 0, 0, 0, 0: everywhere
    bool is_everywhere() const noexcept { return row_end == 0; }
};

/// A kernel that was given no binaries: to ask for their sizes would be to read what is not there.
struct Hollow {
    const void* kernel;
};

enum class NamedBy : uint8_t;

struct Program {
    uint64_t key;        // in the table
    uint64_t number;     // the runtime's
    uint64_t id;         // as it is reported
    const void* impl;    // the runtime's object; another one: this program was unloaded with its runtime
    const void* device;  // it was compiled for
    const Mesh* mesh;    // which that belongs to; null: not open yet
    uint32_t mesh_number;
    uint32_t kernels, circular_buffers, dataflow_buffers, scratchpads;  // first of each
    uint16_t target;
    uint16_t core_count;
    Place place;
    uint8_t owner;  // ttmem_kind of its kernels if the runtime configured it for itself, else 0
    bool is_compiled, has_views_listed;
    bool is_in_workload;  // one that the runtime configures for itself never is, and has no launches
    bool is_entered;      // listed with its status and launches
    bool has_binaries;    // in DRAM, listed under its name and target: it ends with them
    NamedBy named_by;     // its operation, as it was told
    bool is_family_shared;
    char family[64];  // of operations, whose source its kernels are; "" unknown
};

struct Memory;

/// Null when there is no memory to be had.
Memory* memory() noexcept;
/// The cells of that memory, for who knows that there is some.
Cells& cells() noexcept;
/// Something found no place there: the journal counts it among what is not listed.
void count_lost() noexcept;

/// The program behind a ProgramImpl; null if nothing of it was reported.
Program* find_program(const void* impl) noexcept;
Program* find_or_add_program(const void* impl) noexcept;
Program* program_with(uint64_t key) noexcept;
/// Its number; of a release that tells none, its address, which is its own as long as it lives.
uint64_t key_of_program(const void* impl) noexcept;

/// Finds out where a program runs that was compiled for `device`; false while nobody knows.
bool settle(Program& program, const void* device) noexcept;
/// Whether its mesh is still open: only then anything is said of it.
bool is_reportable(const Program& program) noexcept;

/// The names of parts of meshes: a chip's own, or one that is made for those chips.
uint16_t target_of_place(Mesh& mesh, const Place& place) noexcept;

/// The part at the end of a list is appended to; null if there is no room.
Part* append_part(uint32_t* first, uint32_t number) noexcept;
/// Gives back what is at `link` and all behind it.
void end_parts(uint32_t* link, bool is_told) noexcept;

void report_part(const Program& program, Part& part) noexcept;
void report_kernels(Program& program) noexcept;
/// With TT_METAL_KERNEL_BACKTRACE=1: a line on stderr, and the native stack.
void log_kernel(const Program& program, const ttmem_kernel& kernel) noexcept;
/// Inside configure_fabric and configure_command_queue_programs: the program is the runtime's own.
void claim_for_owner(const void* impl) noexcept;

}  // namespace ttmem::hook
