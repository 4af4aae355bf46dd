#include "ledger/rows/versions.hpp"

#include <unordered_map>

#include "ledger/collector.hpp"

namespace ttmem {
namespace {

bool is_described_again(const Device& device) { return device.descriptions != device.seen_descriptions; }

class Others {
public:
    explicit Others(const std::vector<std::unique_ptr<Process>>& processes) {
        for (const auto& process : processes)
            if (process->shadowed_by != 0) by_journal_[process->shadowed_by] = process.get();
    }

    /// What a process depends on, with what it reports besides.
    ProcessChanges changes_of(const Process& process) const {
        const auto other = by_journal_.find(process.key);
        if (other == by_journal_.end()) return {process.figures, process.book.changes(), 0, 0};
        const Process& socket = *other->second;
        return {process.figures, process.book.changes(), socket.figures + (socket.key << 32), socket.book.changes()};
    }

private:
    std::unordered_map<uint64_t, const Process*> by_journal_;
};

}  // namespace

std::vector<uint32_t> Versions::update(const std::vector<std::unique_ptr<Process>>& processes, Devices& devices) {
    const Others others(processes);
    std::vector<bool> is_touched(devices.all().size());
    for (const auto& process : processes) {
        const ProcessChanges changes = others.changes_of(*process);
        bool has_changed = process->version == 0 || process->versioned != changes;
        for (const auto& [number, cell] : process->book.cells())
            has_changed = has_changed || is_described_again(devices.all()[number]);
        if (!has_changed) continue;
        process->versioned = changes;
        process->version = ++last_;
        for (const auto& [number, cell] : process->book.cells()) is_touched[number] = true;
    }
    std::vector<uint32_t> changed;
    for (uint32_t number = 0; number < is_touched.size(); ++number) {
        Device& device = devices.at(number);
        if (!is_touched[number] && !is_described_again(device) && device.changes == device.seen_changes) continue;
        device.seen_descriptions = device.descriptions;
        device.seen_changes = device.changes;
        device.version = ++last_;
        changed.push_back(number);
    }
    return changed;
}

}  // namespace ttmem
