#include "ledger/chips/balances.hpp"

#include <algorithm>

namespace ttmem {
namespace {

constexpr size_t kUnusedMost = 1024;
constexpr size_t kDevicesMost =
    200'000;  // of all processes together: numbers that a process sends are no memory of ours

}  // namespace

uint32_t Devices::add(uint64_t now_ns) {
    ++changes_;
    uint32_t number = static_cast<uint32_t>(devices_.size());
    if (!vacant_.empty()) {
        number = vacant_.back();
        vacant_.pop_back();
        devices_[number] = Device{};
    } else {
        devices_.emplace_back();
    }
    devices_[number].facts.index = -1;
    devices_[number].since_ns = now_ns;
    devices_[number].descriptions = 1;
    return number;
}

uint32_t Devices::by_unique_id(uint64_t unique_id, uint64_t now_ns) {
    const auto known = numbers_.find(unique_id);
    if (known != numbers_.end()) return known->second;
    const uint32_t number = add(now_ns);
    numbers_.emplace(unique_id, number);
    Device& device = devices_[number];
    device.unique_id = unique_id;
    device.is_known = !is_server_device(unique_id);
    if (!device.is_known) {
        device.facts.index = static_cast<int32_t>(static_cast<uint32_t>(unique_id));
        device.name = "server:" + std::to_string(device.facts.index);
    }
    return number;
}

uint32_t Devices::unknown(const std::string& name, uint64_t now_ns) {
    const auto known = unknowns_.find(name);
    if (known != unknowns_.end()) return known->second;
    const uint32_t number = add(now_ns);
    unknowns_.emplace(name, number);
    devices_[number].name = name;
    return number;
}

const uint32_t* Devices::only_chip(int32_t index) const {
    const auto chips = chips_.find(index);
    return chips != chips_.end() && chips->second.size() == 1 ? chips->second.data() : nullptr;
}

uint32_t Devices::by_server_id(int32_t id, uint64_t now_ns) {
    const uint32_t* chip = only_chip(id);
    return chip != nullptr ? *chip : by_unique_id(server_device(id), now_ns);
}

const Device* Devices::find_server_id(int32_t id) const {
    const uint32_t* chip = only_chip(id);
    if (chip != nullptr) return &devices_[*chip];
    const auto known = numbers_.find(server_device(id));
    return known != numbers_.end() ? &devices_[known->second] : nullptr;
}

void Devices::set_facts(uint32_t number, const DeviceDescriptor& facts) {
    Device& device = devices_[number];
    ++changes_;
    ++descriptions_;
    ++device.descriptions;
    const int32_t before = device.facts.index, now = facts.index;
    device.facts = facts;
    if (!device.is_known) {
        device.facts.index = before;  // its name is its number, whatever it is reported
        return;
    }
    if (before == now) return;
    if (before >= 0) std::erase(chips_[before], number);
    if (now >= 0) chips_[now].push_back(number);
    ++mapping_;
}

bool Devices::has_room() const { return devices_.size() - vacant_.size() < kDevicesMost; }

uint32_t Devices::numbered_count() const {
    int32_t highest = -1;
    for (const Device& device : devices_)
        if (device.is_known || device.user_count > 0) highest = std::max(highest, device.facts.index);
    return static_cast<uint32_t>(highest) + 1;
}

void Devices::forget_unused() {
    const auto is_unused = [](const Device& device) { return device.user_count == 0 && !device.is_vacant(); };
    if (static_cast<size_t>(std::count_if(devices_.begin(), devices_.end(), is_unused)) <= kUnusedMost) return;
    ++changes_;
    for (uint32_t number = 0; number < devices_.size(); ++number) {
        Device& device = devices_[number];
        if (!is_unused(device)) continue;
        if (device.is_known && device.facts.index >= 0) {
            std::erase(chips_[device.facts.index], number);
            ++mapping_;
        }
        if (device.is_known || is_server_device(device.unique_id))
            numbers_.erase(device.unique_id);
        else
            unknowns_.erase(device.name);
        device = Device{};
        vacant_.push_back(number);
    }
}

void Devices::retract_peaks(const std::map<uint32_t, Cell>& cells, uint64_t since_ns) {
    ++changes_;
    for (const auto& [number, cell] : cells) {
        Device& device = devices_[number];
        ++device.changes;
        for (PeakAmount& pool : device.cell.pools) {
            pool.high = pool.used;
            if (pool.peak_time_ns < since_ns || pool.peak == pool.used) continue;
            pool.peak = pool.used;
            device.is_lower_bound = device.is_lower_bound || device.user_count > 2;  // others may have been there
        }
    }
}

bool Devices::set_bank_sizes(const std::string& arch, const BankSizes& sizes) {
    const auto [known, is_new] = bank_sizes_.try_emplace(arch, sizes);
    if (!is_new && known->second == sizes) return false;
    known->second = sizes;
    for (Device& device : devices_)
        if (arch == device.facts.arch) ++device.changes;
    return true;
}

const BankSizes* Devices::bank_sizes(const Device& device) const {
    const auto known = bank_sizes_.find(std::string_view(device.facts.arch));
    return known != bank_sizes_.end() ? &known->second : nullptr;
}

int64_t Devices::take_high(uint32_t number, uint32_t pool) {
    PeakAmount& amount = devices_[number].cell.pools[pool];
    const int64_t highest = std::max(amount.high, amount.used);
    amount.high = amount.used;
    return highest;
}

void Devices::reset_peaks(uint64_t now_ns) {
    ++changes_;
    for (Device& device : devices_) {
        for (PeakAmount& pool : device.cell.pools) {
            pool.peak = pool.used;
            pool.peak_time_ns = now_ns;
        }
        device.since_ns = now_ns;
        device.is_lower_bound = false;
        ++device.changes;
    }
}

}  // namespace ttmem
