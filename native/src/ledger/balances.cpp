#include "ledger/balances.hpp"

namespace ttmem {

uint32_t Devices::by_unique_id(uint64_t unique_id, uint64_t now_ns) {
    const auto [place, is_new] = numbers_.try_emplace(unique_id, static_cast<uint32_t>(devices_.size()));
    if (is_new) {
        devices_.emplace_back();
        devices_.back().unique_id = unique_id;
        devices_.back().is_known = true;
        devices_.back().facts.index = -1;
        devices_.back().since_ns = now_ns;
    }
    return place->second;
}

uint32_t Devices::unknown(const std::string& name, uint64_t now_ns) {
    const auto [place, is_new] = unknowns_.try_emplace(name, static_cast<uint32_t>(devices_.size()));
    if (is_new) {
        devices_.emplace_back();
        devices_.back().name = name;
        devices_.back().facts.index = -1;
        devices_.back().since_ns = now_ns;
    }
    return place->second;
}

}  // namespace ttmem
