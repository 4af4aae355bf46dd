// Answers to queries, in the size of the question.
#pragma once

#include "ledger/chips/balances.hpp"
#include "server/message.hpp"

namespace ttmem::server {

struct Reply {
    char bytes[kStrideMost] = {};
    uint64_t saturated_channel_bytes = 0;  // a DRAM channel too large for the reply's 32 bits
};

/// `node_count`: devices that the driver shows, which may be more than any process has spoken of.
Reply reply_to(const Head& question, size_t size, const Devices& devices, uint32_t node_count);

}  // namespace ttmem::server
