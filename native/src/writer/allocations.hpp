// What the C interface does with allocations and frees.
#pragma once

#include "ttmem/client.h"

namespace ttmem {

ttmem_handle buffer_alloc(const ttmem_buffer* buffer);
ttmem_handle core_buffer_alloc(const ttmem_core_buffer* told);
ttmem_handle cb_alloc(const ttmem_circular_buffer* cb);
ttmem_handle kernel_load(const ttmem_kernel* kernel);
void free_handle(ttmem_handle handle);
void free_id(uint16_t target, uint8_t kind, uint64_t id, uint8_t pool, uint64_t bytes);

}  // namespace ttmem
