// What chips are said to be. Anyone who opens one describes it; the driver is believed before all processes, root before others,
// and of equals the first. Descriptions that cannot both be true are kept as a contradiction, to be shown beside the
// chip's figures.
#include <strings.h>

#include <algorithm>
#include <cstring>

#include "ledger/chips/balances.hpp"

namespace ttmem {
namespace {

// "n300" and "n300 L" may be one board.
bool differ(const char* a, const char* b) {
    const size_t shared = std::min(std::strlen(a), std::strlen(b));
    return shared != 0 && strncasecmp(a, b, shared) != 0;
}

std::string grid_text(const DeviceDescriptor& facts) {
    return std::to_string(facts.grid_x) + " x " + std::to_string(facts.grid_y);
}

// Openers divide DRAM as they like: a trace region is taken off it.
uint64_t dram_of(const DeviceDescriptor& facts) {
    const uint64_t dram = facts.capacity_bytes[TTMEM_DRAM];
    return dram == 0 ? 0 : dram + facts.capacity_bytes[TTMEM_TRACE];
}

// Likewise L1: small buffers and the kernel ring are taken off it.
uint64_t l1_of(const DeviceDescriptor& facts, bool has_ring) {
    const uint64_t l1 = facts.capacity_bytes[TTMEM_L1];
    const uint64_t cores = facts.l1_banks != 0 ? facts.l1_banks : uint64_t{facts.grid_x} * facts.grid_y;
    return l1 == 0 ? 0 : l1 + facts.capacity_bytes[TTMEM_L1_SMALL] + (has_ring ? facts.kernel_ring_bytes * cores : 0);
}

struct Difference {
    std::string what, believed, other;
};

// The first thing in which two descriptions differ; what one of them leaves out is no difference.
Difference difference(const DeviceDescriptor& a, const DeviceDescriptor& b) {
    const auto numbers = [](const char* what, uint64_t one, uint64_t other, const char* unit) -> Difference {
        if (one == 0 || other == 0 || one == other) return {};
        return {what, std::to_string(one) + unit, std::to_string(other) + unit};
    };
    if (differ(a.arch, b.arch)) return {"architecture", a.arch, b.arch};
    if (differ(a.board, b.board)) return {"board", a.board, b.board};
    if (uint32_t{a.grid_x} * a.grid_y != 0 && uint32_t{b.grid_x} * b.grid_y != 0 &&
        (a.grid_x != b.grid_x || a.grid_y != b.grid_y))
        return {"grid", grid_text(a), grid_text(b)};
    const bool has_ring = a.kernel_ring_bytes != 0 && b.kernel_ring_bytes != 0;
    for (const Difference& found : std::initializer_list<Difference>{
             numbers("DRAM banks", a.dram_banks, b.dram_banks, ""), numbers("L1 banks", a.l1_banks, b.l1_banks, ""),
             numbers("DRAM", dram_of(a), dram_of(b), " bytes"),
             numbers("L1", l1_of(a, has_ring), l1_of(b, has_ring), " bytes")})
        if (!found.what.empty()) return found;
    return {};
}

// The first thing in which a description cannot be true by the driver's word.
Difference difference(const DriverWord& word, const DeviceDescriptor& facts) {
    const auto beyond = [](const char* what, uint64_t most, uint64_t told) -> Difference {
        if (most == 0 || told <= most) return {};
        return {what, "at most " + std::to_string(most) + " bytes", std::to_string(told) + " bytes"};
    };
    if (differ(word.arch.c_str(), facts.arch)) return {"architecture", word.arch, facts.arch};
    if (differ(word.board.c_str(), facts.board)) return {"board", word.board, facts.board};
    const Difference dram = beyond("DRAM", word.dram_bytes, dram_of(facts));
    return dram.what.empty() ? beyond("L1", word.l1_bytes, l1_of(facts, false)) : dram;
}

void copy_name(char (&to)[32], const std::string& name) {
    std::memset(to, 0, sizeof to);
    std::memcpy(to, name.data(), std::min(name.size(), sizeof to - 1));
}

// A description as far as the driver lets it be true. Of one that cannot be nothing is left but the chip's number.
DeviceDescriptor corrected(const DeviceDescriptor& told, const DriverWord& word) {
    DeviceDescriptor facts = told;
    if (!difference(word, told).what.empty()) {
        facts = {};
        facts.unique_id = told.unique_id;
        facts.index = told.index;
        copy_name(facts.arch, word.arch);
        copy_name(facts.board, word.board);
    }
    if (dram_of(facts) == 0) facts.capacity_bytes[TTMEM_DRAM] = word.dram_bytes;
    return facts;
}

bool says_something(const DeviceDescriptor& facts) {
    return facts.arch[0] != 0 || facts.board[0] != 0 || facts.grid_x != 0 || dram_of(facts) != 0 ||
           facts.capacity_bytes[TTMEM_L1] != 0;
}

// How much a claim is worth: one that the driver contradicts least, then one that says nothing.
int worth(const Claim& claim, const DriverWord& driver) {
    if (!difference(driver, claim.facts).what.empty()) return 0;
    return says_something(claim.facts) ? 1 + static_cast<int>(claim.trust) : 1;
}

const Claim* best_of(const Device& device) {
    const Claim* best = nullptr;
    int most = -1;
    for (const Claim& claim : device.claims) {
        const int own = worth(claim, device.driver);
        if (own > most) {
            most = own;
            best = &claim;
        }
    }
    return best;
}

}  // namespace

void Devices::adopt(uint32_t number, const Claim& claim) {
    devices_[number].trust = claim.trust;
    set_facts(number, corrected(claim.facts, devices_[number].driver));
}

void Devices::describe(uint32_t number, const Claim& claim, bool is_open) {
    Device& device = devices_[number];
    if (claim.trust == Trust::nobody) return;
    if (!is_open) {  // of an earlier life: good as long as no process better speaks
        if (device.claims.empty() && claim.trust >= device.trust && worth(claim, device.driver) > 0)
            adopt(number, claim);
        return;
    }
    const auto known = std::find_if(device.claims.begin(), device.claims.end(),
                                    [&](const Claim& one) { return one.key == claim.key; });
    const bool is_first = device.claims.empty();
    if (known != device.claims.end())
        *known = claim;
    else
        device.claims.push_back(claim);
    if (is_first || best_of(device)->key == claim.key || device.facts.unique_id == 0) adopt(number, claim);
    compare(device);
}

void Devices::withdraw(uint32_t number, uint64_t key) {
    Device& device = devices_[number];
    if (std::erase_if(device.claims, [key](const Claim& claim) { return claim.key == key; }) == 0) return;
    const Claim* best = best_of(device);
    if (best != nullptr && !difference(best->facts, device.facts).what.empty()) adopt(number, *best);
    compare(device);
}

bool Devices::describe_by_driver(uint64_t unique_id, const DriverWord& word) {
    const auto found = numbers_.find(unique_id);
    if (found == numbers_.end() || devices_[found->second].driver == word) return false;
    Device& device = devices_[found->second];
    device.driver = word;
    ++changes_;
    if (const Claim* best = best_of(device); best != nullptr)
        adopt(found->second, *best);
    else if (device.facts.unique_id != 0)  // of an earlier life
        set_facts(found->second, corrected(device.facts, word));
    compare(device);
    return true;
}

void Devices::compare(Device& device) {
    const bool had = device.contradiction.count != 0;
    device.contradiction = {};
    const Claim* best = best_of(device);
    for (const Claim& claim : device.claims) {
        Difference found = difference(device.driver, claim.facts);
        const uint64_t believed = found.what.empty() ? best->key : 0;
        if (found.what.empty()) found = difference(best->facts, claim.facts);
        if (found.what.empty() || device.contradiction.count++ != 0) continue;
        device.contradiction = {
            believed, claim.key, std::move(found.what), std::move(found.believed), std::move(found.other), 1};
    }
    changes_ += had || device.contradiction.count != 0;
    ++device.changes;
}

}  // namespace ttmem
