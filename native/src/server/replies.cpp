#include "server/replies.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "server/message_rules.hpp"

namespace ttmem::server {
namespace {

uint64_t used(const Device& device, int pool) {
    return static_cast<uint64_t>(std::max<int64_t>(device.cell.pools[pool].used, 0));
}

uint32_t arch_number(const char* arch) {
    constexpr const char* kArchs[] = {"grayskull", "wormhole_b0", "blackhole", "quasar"};
    for (uint32_t i = 0; i < sizeof kArchs / sizeof *kArchs; ++i)
        if (std::strcmp(arch, kArchs[i]) == 0) return i + 1;
    return 0;
}

uint32_t saturated(uint64_t value) {
    return static_cast<uint32_t>(std::min<uint64_t>(value, std::numeric_limits<uint32_t>::max()));
}

void fill_sums(Message144& reply, const Device& device) {
    reply.sums = {used(device, TTMEM_DRAM), used(device, TTMEM_L1), used(device, TTMEM_L1_SMALL),
                  used(device, TTMEM_TRACE)};
    reply.cb = used(device, TTMEM_CB);
    reply.kernel = kernel_bytes(device);
}

uint64_t fill_info(DeviceInfo& info, const Device& device) {
    const DeviceDescriptor& facts = device.facts;
    const uint64_t cores = uint64_t{facts.grid_x} * facts.grid_y;
    const uint64_t channel = facts.dram_banks != 0 ? facts.capacity_bytes[TTMEM_DRAM] / facts.dram_banks : 0;
    info.total_dram = facts.capacity_bytes[TTMEM_DRAM];
    info.total_l1 = facts.capacity_bytes[TTMEM_L1];
    info.arch = arch_number(facts.arch);
    info.dram_channels = facts.dram_banks;
    info.dram_per_channel = saturated(channel);
    info.l1_per_core = cores != 0 ? saturated(info.total_l1 / cores) : 0;
    info.is_available = 1;
    return channel > std::numeric_limits<uint32_t>::max() ? channel : 0;
}

// The device info of 112 bytes stands where larger messages have two sums more.
void lay_out(const Message144& reply, size_t size, char* bytes) {
    if (size == sizeof(Message112)) {
        const Message112 older{reply.head, reply.sums, reply.info};
        std::memcpy(bytes, &older, sizeof older);
    } else {
        std::memcpy(bytes, &reply, std::min(size, sizeof reply));
    }
}

}  // namespace

Reply reply_to(const Head& question, size_t size, const Devices& devices, uint32_t node_count) {
    Reply reply;
    Message144 whole{};
    const bool is_query = question.type == static_cast<uint8_t>(MessageType::query);
    const Device* device = question.device_id >= 0 ? devices.find_server_id(question.device_id) : nullptr;
    whole.head.type = static_cast<uint8_t>(is_query ? MessageType::response : MessageType::info_response);
    whole.head.device_id = question.device_id;
    if (is_query) {
        if (device != nullptr) fill_sums(whole, *device);
    } else if (question.device_id == -1) {
        whole.info.device_count = std::max(devices.numbered_count(), node_count);
        whole.info.is_available = whole.info.device_count > 0;
    } else if (device != nullptr && (device->is_known || device->user_count > 0)) {
        reply.saturated_channel_bytes = fill_info(whole.info, *device);
    }
    lay_out(whole, size, reply.bytes);
    return reply;
}

}  // namespace ttmem::server
