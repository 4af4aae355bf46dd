// Which pool a thing lives in, by tt-metal's BufferType or by the kind of kernel; one rule for writers and servers.
#pragma once

#include <cstdint>

#include "ttmem/client.h"

namespace ttmem {

inline uint8_t pool_of_buffer(uint8_t type) noexcept {
    constexpr uint8_t kPoolOf[] = {TTMEM_DRAM, TTMEM_L1, TTMEM_HOST, TTMEM_L1_SMALL, TTMEM_TRACE};
    return type < sizeof kPoolOf ? kPoolOf[type] : uint8_t{TTMEM_POOL_UNKNOWN};
}

inline uint8_t pool_of_kernel(uint8_t kind) noexcept {
    if (kind == TTMEM_KERNEL_FABRIC) return TTMEM_ETH;
    return kind == TTMEM_KERNEL_DISPATCH ? uint8_t{TTMEM_DISPATCH} : uint8_t{TTMEM_KERNEL};
}

}  // namespace ttmem
