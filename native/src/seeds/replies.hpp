// Answers to queries, in the size of the question.
#pragma once

#include "ledger/balances.hpp"
#include "seeds/message.hpp"

namespace ttmem::seeds {

struct Reply {
    char bytes[kStrideMost] = {};
    uint64_t saturated_channel_bytes = 0;  // a DRAM channel too large for the reply's 32 bits
};

/// `node_count`: devices that the driver shows, which may be more than anybody has spoken of.
Reply reply_to(const Head& question, size_t size, const Devices& devices, uint32_t node_count);

}  // namespace ttmem::seeds
