// The getters of a buffer, as the runtime exports them.
#include "runtime.hpp"

namespace tt::tt_metal {

uint64_t Buffer::unique_id() const { return form.id; }
uint64_t Buffer::size() const { return form.size_bytes; }
uint64_t Buffer::page_size() const { return form.page_bytes; }
IDevice* Buffer::device() const { return holder; }
BufferType Buffer::buffer_type() const { return form.type; }
uint8_t Buffer::buffer_layout() const { return form.layout; }
// Where the runtime complains of a buffer without an address, 0 is told.
uint32_t Buffer::address() const { return static_cast<uint32_t>(place); }
Allocator* Buffer::allocator() const { return owner->view().get(); }

}  // namespace tt::tt_metal
