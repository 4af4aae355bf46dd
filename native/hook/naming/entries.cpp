#include "hook/naming/entries.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "hook/launches/workloads.hpp"
#include "hook/programs/memory.hpp"
#include "hook/runtime.hpp"

namespace ttmem::hook {

thread_local __attribute__((tls_model("initial-exec"))) LaunchEntry launch_entry;

namespace {

constexpr std::string_view kMarkBegin = " (Inspector: ", kMarkEnd = ")";

// Its first launches only: later ones find it named.
void note_entry(const void* impl, std::string_view name) noexcept {
    Memory* all = memory();
    const Workload* workload = all == nullptr ? nullptr : all->workloads.find(word_of(impl));
    if (workload == nullptr || workload->is_named) return;
    const size_t scope = name.rfind(':');  // of a name with its namespaces the last part
    if (scope != std::string_view::npos) name.remove_prefix(scope + 1);
    const size_t length = std::min<size_t>(name.size(), Operation::kMost - 1);
    launch_entry.workload = impl;
    if (length != 0) std::memcpy(launch_entry.name, name.data(), length);
    launch_entry.name[length] = '\0';
}

void append_words(char* to, std::string_view words) noexcept {
    const size_t length = std::strlen(to);
    if (length + words.size() >= Operation::kMost) return;
    std::memcpy(to + length, words.data(), words.size());
    to[length + words.size()] = '\0';
}

}  // namespace

void confirm_by_entry(const void* workload, Operation& operation) noexcept {
    if (launch_entry.workload != workload || launch_entry.name[0] == '\0') return;
    if (operation.device[0] == '\0') {
        std::memcpy(operation.device, launch_entry.name, sizeof operation.device);
    } else if (std::strcmp(operation.device, launch_entry.name) != 0) {
        append_words(operation.device, kMarkBegin);
        append_words(operation.device, launch_entry.name);
        append_words(operation.device, kMarkEnd);
    }
}

}  // namespace ttmem::hook

using ttmem::hook::Hook;

// The text in two words, a vector by its address, an optional in one word: handed on as they came.
TTMEM_INTERPOSE(emit_entry, void,
                (void* const* workload, uint64_t runtime_id, uint64_t length, const char* name, uint64_t specs,
                 uint64_t trace)) {
    auto* real = reinterpret_cast<void (*)(void* const*, uint64_t, uint64_t, const char*, uint64_t, uint64_t)>(
        ttmem::hook::original(Hook::emit_entry, 1));
    if (TTMEM_ON && name != nullptr) ttmem::hook::note_entry(*workload, {name, length});
    if (real != nullptr) real(workload, runtime_id, length, name, specs, trace);
}
