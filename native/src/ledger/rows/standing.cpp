// Where a process stands: whether its figures are complete, and what does not add up in its reports.
#include <algorithm>

#include "ledger/rows/making.hpp"

namespace ttmem {

std::string_view reason_of(const Process& process) {
    switch (process.mode) {
        case Mode::outrun:
            return process.is_verified ? "outrun" : "unverified";
        case Mode::damaged:
            return "damaged";
        case Mode::settling:
            return process.is_verified ? "settling" : "unverified";
        default:
            if (!process.is_verified) return "unverified";
            if (process.hot.targets_refused != 0) return "targets_lost";
            if (process.hot.unreported != 0) return "unknown_device";
            if (process.is_table_full) return "table_full";
            if (process.is_restored) return "restored";
            return process.hot.undivided_l1 != 0 ? "undivided" : "";
    }
}

std::string_view first_reason(const std::vector<std::string_view>& reasons) {
    static constexpr std::string_view kWorstFirst[] = {
        "damaged",    "unverified", "contradicted", "over_capacity", "targets_lost", "unknown_device",
        "table_full", "outrun",     "restored",     "undivided",     "settling"};
    for (const std::string_view known : kWorstFirst)
        if (std::find(reasons.begin(), reasons.end(), known) != reasons.end()) return known;
    return {};
}

std::vector<FindingRow> findings_of(const Process& process) {
    std::vector<FindingRow> findings;
    const auto put = [&](const std::string& name, uint64_t count) {
        if (count == 0) return;
        const auto known =
            std::find_if(findings.begin(), findings.end(), [&](const FindingRow& one) { return one.first == name; });
        if (known != findings.end())
            known->second = count;
        else
            findings.emplace_back(name, count);
    };
    uint64_t classified = 0;
    for (const auto& [name, count] : process.book.findings()) {
        put(name, count);
        if (name == "double_free" || name == "wrong_target_free") classified += count;
    }
    const Hot& hot = process.hot;
    put("unknown_free", hot.unmatched_frees > classified ? hot.unmatched_frees - classified : 0);
    put("replaced", hot.replaced);
    put("clamped", hot.clamped);
    put("shrunk_kernel", hot.shrunk_kernels);
    put("unsized_free", hot.unsized_frees);
    put("names_lost", hot.arena_refused);
    put("stacks_lost", hot.stacks_refused);
    put("phases_lost", hot.phases_refused);
    put("targets_lost", hot.targets_refused);
    put("unknown_device", hot.unreported);
    put("undivided_l1", hot.undivided_l1);
    put("unjudged", hot.unjudged);
    put("lock_lost", process.has_lost_lock ? 1 : 0);
    put("counter_mismatch", process.mismatch_count);
    put("two_sources", process.other != 0 ? 1 : 0);
    put("file_removed", process.is_removed && !has_ended(process) ? 1 : 0);
    put("unverified", process.is_verified || has_ended(process) ? 0 : 1);
    return findings;
}

std::string operation_of(const Process& process, uint16_t target, uint64_t program) {
    const uint32_t site = program != 0 ? process.book.operation_of(target, program) : 0;
    return is_stack_site(site) ? operation_in(process.site(site)) : std::string();
}

const Process* find_process(const Processes& processes, uint32_t pid, uint64_t key) {
    const Process* found = nullptr;
    int best = -1;
    for (const auto& process : processes) {
        if (process->pid != pid || process->shadowed_by != 0) continue;
        const int rank = process->key == key ? 3 : (has_ended(*process) ? 0 : (process->is_visible ? 2 : 1));
        if (rank < best) continue;
        best = rank;
        found = process.get();
    }
    return found;
}

MaybeCount program_number(uint64_t reported) {
    if (reported == 0) return std::nullopt;
    return reported == TTMEM_PROGRAM_ZERO ? uint64_t{0} : reported;
}

}  // namespace ttmem
