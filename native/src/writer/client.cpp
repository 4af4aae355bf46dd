// The C interface: bounds every argument, then hands it to the owner's operations.
//
// Nothing a host passes is trusted: sizes beyond 2^42 or below zero are cut and counted, targets, kinds and pools
// out of range are kept under `unknown`.
#include "ttmem/client.h"

#include <cstring>

#include "interpreter/sites.hpp"
#include "traces/traces.hpp"
#include "writer/allocations.hpp"
#include "writer/checks.hpp"
#include "writer/incidents.hpp"
#include "writer/operations.hpp"
#include "writer/owner.hpp"
#include "writer/stacks.hpp"

int ttmem_tracking = 2;  // undecided: the first call asks the environment

namespace ttmem {
namespace {

constexpr uint8_t kStatusUnknown = 3;
constexpr size_t kStackTextMost = 4096;

void unreported(uint64_t count) {
    if (may_write()) the_writer.header->unreported.fetch_add(count, std::memory_order_relaxed);
}

void binaries_placed(uint16_t target, uint64_t program, uint8_t status, uint64_t bytes, uint64_t address) {
    if (!may_write()) return;
    uint8_t flags = 0;
    bytes = checked_size(bytes, flags);
    count_if_clamped(flags);
    change_status(checked_target(target), program, status <= TTMEM_COMMITTED ? status : kStatusUnknown, bytes,
                  static_cast<uint32_t>(address <= ~uint32_t{0} ? address : 0));
}

void binary_status(uint16_t target, uint64_t program, uint8_t status, uint64_t bytes) {
    binaries_placed(target, program, status, bytes, 0);
}

TTMEM_HOT void launch(uint16_t target, uint64_t program) {
    if (may_write()) count_launch(checked_target(target), program);
}

void program_operation(uint16_t target, uint64_t program, uint32_t site) {
    if (may_write() && program != 0) name_program(checked_target(target), program, site);
}

// What no process reported: figures unknown, all else 0.
ttmem_incident an_unknown_incident() noexcept {
    ttmem_incident incident{};
    incident.struct_bytes = sizeof incident;
    incident.requested_bytes = incident.per_bank_bytes = incident.free_bytes = incident.largest_free_bytes =
        incident.bank_free_bytes = incident.bank_largest_free_bytes = TTMEM_UNKNOWN_FIGURE;
    return incident;
}

// A caller of an older interface says less, one of a newer interface more.
void incident(const ttmem_incident* told) {
    constexpr uint32_t kLeast = offsetof(ttmem_incident, pool) + sizeof told->pool;
    if (told->struct_bytes < kLeast || told->kind == TTMEM_INCIDENT_NONE || told->kind >= kIncidentKinds) return;
    if (!may_write()) return;
    ttmem_incident checked = an_unknown_incident();
    std::memcpy(&checked, told, told->struct_bytes < sizeof checked ? told->struct_bytes : sizeof checked);
    uint8_t flags = 0;
    checked.target = checked_target(checked.target);
    checked.pool = checked_pool(checked.pool);
    for (uint64_t* bytes : {&checked.requested_bytes, &checked.per_bank_bytes, &checked.free_bytes,
                            &checked.largest_free_bytes, &checked.bank_free_bytes, &checked.bank_largest_free_bytes})
        if (*bytes != TTMEM_UNKNOWN_FIGURE) *bytes = checked_size(*bytes, flags);
    for (uint64_t* address : {&checked.space_begin_address, &checked.space_end_address, &checked.cb_end_address,
                              &checked.buffer_address, &checked.address})
        *address = checked_address(*address);
    checked.site = site_of(checked.site);
    count_if_clamped(flags);
    note_incident(checked);
}

void out_of_memory(uint16_t target, uint8_t pool, uint64_t requested, uint64_t free, uint64_t largest) {
    if (!may_write()) return;
    uint8_t flags = 0;
    ttmem_incident refused = an_unknown_incident();
    refused.kind = TTMEM_INCIDENT_OUT_OF_MEMORY;
    refused.target = target;
    refused.pool = pool;
    refused.requested_bytes = checked_size(requested, flags);  // to this call nothing is unknown
    refused.free_bytes = checked_size(free, flags);
    refused.largest_free_bytes = checked_size(largest, flags);
    count_if_clamped(flags);
    incident(&refused);
}

TTMEM_HOT void ring_state(const ttmem_ring_state* state) {
    if (!may_write()) return;
    uint8_t flags = 0;
    const uint64_t live = checked_size(state->live_bytes, flags), retired = checked_size(state->retired_bytes, flags),
                   total = checked_size(state->ring_bytes, flags);
    const uint8_t core_type = state->core_type < kCoreTypes ? state->core_type : uint8_t{TTMEM_CORE_UNKNOWN};
    const uint8_t stall = state->stall < kStalls ? state->stall : uint8_t{TTMEM_STALL_NONE};
    count_if_clamped(flags);
    note_ring({live, retired, total, state->entry_count,
               RingMove::of(checked_target(state->target), core_type, stall, state->is_aside != 0)});
}

void cache_answer(const ttmem_cache_answer* answer) {
    if (!may_write() || answer->cache >= kCaches || answer->outcome >= kOutcomes) return;
    uint8_t flags = 0;
    ttmem_cache_answer checked = *answer;
    checked.target = checked_target(checked.target);
    for (uint64_t* bytes : {&checked.size_bytes, &checked.held_bytes, &checked.shared_bytes})
        *bytes = checked_size(*bytes, flags);
    count_if_clamped(flags);
    note_cache(checked);
}

void clash(const ttmem_cb_clash* told) {
    ttmem_incident refused = an_unknown_incident();
    refused.kind = TTMEM_INCIDENT_CLASH;
    refused.target = told->target;
    refused.pool = TTMEM_L1;
    refused.program = told->program;
    refused.cb_end_address = told->cb_end_address;
    refused.buffer_address = told->buffer_address;
    incident(&refused);
}

// A copy of before there were incidents owns the journal: it is reported what it knows.
void incident_to_older(const ttmem::WriterTable& owner, const ttmem_incident* told) noexcept {
    const auto figure = [](uint64_t bytes) noexcept { return bytes == TTMEM_UNKNOWN_FIGURE ? 0 : bytes; };
    const ttmem_cb_clash clashed{told->program, told->cb_end_address, told->buffer_address, told->target};
    if (told->kind == TTMEM_INCIDENT_OUT_OF_MEMORY)
        owner.out_of_memory(told->target, told->pool, figure(told->requested_bytes), figure(told->free_bytes),
                            figure(told->largest_free_bytes));
    if (told->kind == TTMEM_INCIDENT_CLASH) owner.clash(&clashed);
}

uint16_t device_open(const ttmem_device* device) {
    if (!may_write()) return 0;
    uint8_t flags = 0;
    ttmem_device checked = *device;
    for (uint64_t& bytes : checked.capacity_bytes) bytes = checked_size(bytes, flags);
    count_if_clamped(flags);
    return open_device(checked);
}

uint16_t mesh_open(uint64_t mesh_id, uint16_t rows, uint16_t columns, const uint16_t* chips, uint32_t chip_count) {
    return may_write() ? open_mesh(mesh_id, rows, columns, chips, chip_count) : uint16_t{0};
}

void target_close(uint16_t target) {
    if (may_write()) close_target(checked_target(target));
}

uint32_t intern_text(const char* text, uint32_t length) { return may_write() ? intern(text, length) : 0; }
uint32_t phase_begin(uint32_t name) { return may_write() ? begin_phase(name) : 0; }

void phase_end(uint32_t phase) {
    if (may_write()) end_phase(phase);
}

void reset_peaks(uint16_t target) {
    if (may_write()) reset_own_peaks(checked_target(target));
}

void label(const char* text) {
    if (may_write()) set_label(text);
}

void trace_begin(uint16_t target, uint64_t trace, uint32_t site) {
    if (may_write()) begin_trace(checked_target(target), trace, site_of(site));
}

void trace_program(uint16_t target, uint64_t trace, uint64_t program) {
    if (may_write()) add_trace_program(checked_target(target), trace, program_of(program));
}

void trace_end(uint16_t target, uint64_t trace, uint64_t bytes) {
    if (!may_write()) return;
    uint8_t flags = 0;
    bytes = checked_size(bytes, flags);
    count_if_clamped(flags);
    end_trace(checked_target(target), trace, bytes);
}

TTMEM_HOT void trace_replay(uint16_t target, uint64_t trace) {
    if (may_write()) replay_trace(checked_target(target), trace);
}

void trace_release(uint16_t target, uint64_t trace) {
    if (may_write()) release_trace(checked_target(target), trace);
}

int enable(const char* directory) { return turn_on(directory) ? 1 : 0; }
void disable() { turn_off(); }
int would_write() { return is_wanted() ? 1 : 0; }
const char* journal_path() { return is_on() ? the_writer.path : ""; }

int mapping(Mapping* where) {
    if (!is_on()) return 0;
    *where = {the_writer.header, the_writer.bytes, the_writer.device, the_writer.inode};
    return 1;
}

uint32_t stack_node_reported(uint32_t parent, uint8_t kind, const char* name, const char* file, uint32_t line) {
    if (!may_write()) return 0;
    if (kind < static_cast<uint8_t>(Node::frame) || kind > static_cast<uint8_t>(Node::device_operation)) return parent;
    const auto view = [](const char* text) noexcept {
        return text == nullptr ? std::string_view() : std::string_view(text, strnlen(text, kStackTextMost));
    };
    return stack_node(parent, static_cast<Node>(kind), view(name), view(file), line);
}

void record_python_sites(int is_on) {
    site_source.store(is_on != 0 ? python_site : nullptr, std::memory_order_release);
}

uint32_t python_site_asked() { return may_write() ? python_site() : 0; }

void set_site_source(ttmem_site_source source) { site_source.store(source, std::memory_order_release); }

void share_switch_with(int* copy) { share_switch(copy); }

}  // namespace

// Beside the word that says whether there is a journal, in .data: anyone who looks at one looks at the other.
__attribute__((section(".data"))) std::atomic<ttmem_site_source> site_source{nullptr};

}  // namespace ttmem

extern "C" {

extern const ttmem::WriterTable ttmem_own_writer = {
    2,
    sizeof(ttmem::WriterTable),
    ttmem::enable,
    ttmem::disable,
    ttmem::journal_path,
    ttmem::would_write,
    ttmem::mapping,
    ttmem::share_switch_with,
    ttmem::device_open,
    ttmem::mesh_open,
    ttmem::target_close,
    ttmem::buffer_alloc,
    ttmem::cb_alloc,
    ttmem::kernel_load,
    ttmem::free_handle,
    ttmem::free_id,
    ttmem::binary_status,
    ttmem::launch,
    ttmem::out_of_memory,
    ttmem::intern_text,
    ttmem::phase_begin,
    ttmem::phase_end,
    ttmem::label,
    ttmem::ring_state,
    ttmem::cache_answer,
    ttmem::clash,
    ttmem::set_site_source,
    ttmem::reset_peaks,
    ttmem::binaries_placed,
    ttmem::core_buffer_alloc,
    ttmem::unreported,
    ttmem::incident,
    ttmem::stack_node_reported,
    ttmem::record_python_sites,
    ttmem::python_site_asked,
    ttmem::program_operation,
    ttmem::trace_begin,
    ttmem::trace_program,
    ttmem::trace_end,
    ttmem::trace_replay,
    ttmem::trace_release,
};
extern const ttmem::WriterTable ttmem_writer_v1 __attribute__((alias("ttmem_own_writer")));

// A predictable test saves the indirect call where this copy owns the journal, which is the usual case.
#define TTMEM_ROUTE(local, remote, ...)                                                     \
    const ttmem::WriterTable& owner = ttmem::owner();                                       \
    if (__builtin_expect(&owner == &ttmem_own_writer, 1)) return ttmem::local(__VA_ARGS__); \
    return owner.remote(__VA_ARGS__)

int ttmem_enable(const char* directory) { TTMEM_ROUTE(enable, enable, directory); }
void ttmem_disable(void) { TTMEM_ROUTE(disable, disable); }
const char* ttmem_journal_path(void) { TTMEM_ROUTE(journal_path, journal_path); }
uint16_t ttmem_device_open_on(const ttmem_device* device) { TTMEM_ROUTE(device_open, device_open, device); }
uint16_t ttmem_mesh_open_on(uint64_t mesh_id, uint16_t rows, uint16_t columns, const uint16_t* chips,
                            uint32_t chip_count) {
    TTMEM_ROUTE(mesh_open, mesh_open, mesh_id, rows, columns, chips, chip_count);
}
void ttmem_target_close_on(uint16_t target) { TTMEM_ROUTE(target_close, target_close, target); }
ttmem_handle ttmem_buffer_alloc_on(const ttmem_buffer* buffer) { TTMEM_ROUTE(buffer_alloc, buffer_alloc, buffer); }
ttmem_handle ttmem_core_buffer_alloc_on(const ttmem_core_buffer* buffer) {
    TTMEM_ROUTE(core_buffer_alloc, core_buffer_alloc, buffer);
}
void ttmem_unreported_on(uint64_t count) { TTMEM_ROUTE(unreported, unreported, count); }
ttmem_handle ttmem_cb_alloc_on(const ttmem_circular_buffer* cb) { TTMEM_ROUTE(cb_alloc, cb_alloc, cb); }
ttmem_handle ttmem_kernel_load_on(const ttmem_kernel* kernel) { TTMEM_ROUTE(kernel_load, kernel_load, kernel); }
void ttmem_free_on(ttmem_handle handle) { TTMEM_ROUTE(free_handle, free_handle, handle); }
void ttmem_free_id_on(uint16_t target, uint8_t kind, uint64_t id, uint8_t pool, uint64_t bytes) {
    TTMEM_ROUTE(free_id, free_id, target, kind, id, pool, bytes);
}
void ttmem_binary_status_on(uint16_t target, uint64_t program, uint8_t status, uint64_t bytes) {
    TTMEM_ROUTE(binary_status, binary_status, target, program, status, bytes);
}
void ttmem_binaries_placed_on(uint16_t target, uint64_t program, uint8_t status, uint64_t bytes, uint64_t address) {
    TTMEM_ROUTE(binaries_placed, binaries_placed, target, program, status, bytes, address);
}
void ttmem_launch_on(uint16_t target, uint64_t program) { TTMEM_ROUTE(launch, launch, target, program); }
void ttmem_out_of_memory_on(uint16_t target, uint8_t pool, uint64_t requested_bytes, uint64_t free_bytes,
                            uint64_t largest_free_bytes) {
    TTMEM_ROUTE(out_of_memory, out_of_memory, target, pool, requested_bytes, free_bytes, largest_free_bytes);
}
uint32_t ttmem_intern_on(const char* text, uint32_t length) { TTMEM_ROUTE(intern_text, intern, text, length); }
uint32_t ttmem_phase_begin_on(uint32_t name) { TTMEM_ROUTE(phase_begin, phase_begin, name); }
void ttmem_phase_end_on(uint32_t phase) { TTMEM_ROUTE(phase_end, phase_end, phase); }
void ttmem_reset_peaks_on(uint16_t target) { TTMEM_ROUTE(reset_peaks, reset_peaks, target); }
void ttmem_label_on(const char* text) { TTMEM_ROUTE(label, label, text); }

void ttmem_ring_on(const ttmem_ring_state* state) { TTMEM_ROUTE(ring_state, ring_state, state); }
void ttmem_cache_on(const ttmem_cache_answer* answer) { TTMEM_ROUTE(cache_answer, cache_answer, answer); }
void ttmem_clash_on(const ttmem_cb_clash* told) { TTMEM_ROUTE(clash, clash, told); }
void ttmem_incident_on(const ttmem_incident* told) {
    const ttmem::WriterTable& owner = ttmem::owner();
    if (&owner == &ttmem_own_writer) return ttmem::incident(told);
    if (owner.bytes < offsetof(ttmem::WriterTable, incident) + sizeof owner.incident)
        return ttmem::incident_to_older(owner, told);
    owner.incident(told);
}
uint32_t ttmem_stack_node_on(uint32_t parent, uint8_t kind, const char* name, const char* file, uint32_t line) {
    TTMEM_ROUTE(stack_node_reported, stack_node, parent, kind, name, file, line);
}
void ttmem_python_sites(int is_on) { TTMEM_ROUTE(record_python_sites, python_sites, is_on); }
uint32_t ttmem_python_site_on(void) { TTMEM_ROUTE(python_site_asked, python_site); }
void ttmem_set_site_source(ttmem_site_source source) { TTMEM_ROUTE(set_site_source, set_site_source, source); }

// Of a copy that may be older than these calls: then no process is reported.
#define TTMEM_ROUTE_IF_THERE(function, ...)                                                    \
    const ttmem::WriterTable& owner = ttmem::owner();                                          \
    if (__builtin_expect(&owner == &ttmem_own_writer, 1)) return ttmem::function(__VA_ARGS__); \
    constexpr size_t kNeeded = offsetof(ttmem::WriterTable, function) + sizeof owner.function; \
    if (owner.bytes >= kNeeded) owner.function(__VA_ARGS__)

void ttmem_program_operation_on(uint16_t target, uint64_t program, uint32_t site) {
    TTMEM_ROUTE_IF_THERE(program_operation, target, program, site);
}
void ttmem_trace_begin_on(uint16_t target, uint64_t trace, uint32_t site) {
    TTMEM_ROUTE_IF_THERE(trace_begin, target, trace, site);
}
void ttmem_trace_program_on(uint16_t target, uint64_t trace, uint64_t program) {
    TTMEM_ROUTE_IF_THERE(trace_program, target, trace, program);
}
void ttmem_trace_end_on(uint16_t target, uint64_t trace, uint64_t bytes) {
    TTMEM_ROUTE_IF_THERE(trace_end, target, trace, bytes);
}
void ttmem_trace_replay_on(uint16_t target, uint64_t trace) { TTMEM_ROUTE_IF_THERE(trace_replay, target, trace); }
void ttmem_trace_release_on(uint16_t target, uint64_t trace) { TTMEM_ROUTE_IF_THERE(trace_release, target, trace); }

#undef TTMEM_ROUTE_IF_THERE
#undef TTMEM_ROUTE
}
