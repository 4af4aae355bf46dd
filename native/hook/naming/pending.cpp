#include "hook/naming/pending.hpp"

#include "hook/launches/workloads.hpp"
#include "hook/naming/entries.hpp"
#include "interpreter/sites.hpp"
#include "writer/operations.hpp"
#include "writer/writer.hpp"

namespace ttmem::hook {

thread_local __attribute__((tls_model("initial-exec"))) Pending pending_buffers;

namespace {

// What a launch makes of a site: looked up by stack, program and place, and by the site itself.
struct Launch {
    uint64_t number;
    const void *caller, *workload;
    Operation operation;
    bool is_looked_for;
};

[[gnu::noinline, gnu::cold]] uint32_t named_anew(Launch& launch, uint64_t number, uint32_t site) noexcept {
    if (!launch.is_looked_for) {
        find_operation(launch.caller, launch.operation);
        confirm_by_entry(launch.workload, launch.operation);
    }
    launch.is_looked_for = true;
    const uint32_t named = launch.operation.is_known() ? site_with(site, launch.operation) : site;
    keep_site(number, named);
    return named;
}

}  // namespace

void note_pending(uint64_t stack, ttmem_handle handle) noexcept {
    Pending& own = pending_buffers;
    if (stack != own.stack || own.generation != the_writer.generation) {
        own.stack = stack;
        own.generation = the_writer.generation;
        own.count = 0;
    }
    if (stack == 0 || handle == 0 || (handle & kUntabledHandle) != 0) return;
    own.handles[own.count++ % kPendingMost] = handle;
}

[[gnu::noinline]] void name_pending(const Workload& workload, const void* caller) noexcept {
    Pending& own = pending_buffers;
    const uint32_t all = own.count, count = all < kPendingMost ? all : kPendingMost;
    own.count = 0;
    if (!has_journal() || own.generation != the_writer.generation || python_stack() != own.stack) return;
    Launch launch{mixed(mixed(own.stack, workload.id), word_of(caller)), caller, workload.impl, {}, false};
    for (uint32_t i = all - count; i != all; ++i) {
        const ttmem_handle handle = own.handles[i % kPendingMost];
        uint32_t site = 0, named = 0;
        if (!site_of_life(handle, site)) continue;
        const uint64_t number = mixed(launch.number, site);
        if (!own.last_named.find(number, named)) named = named_anew(launch, number, site);
        if (named != site) change_site(handle, site, named);
    }
}

}  // namespace ttmem::hook
