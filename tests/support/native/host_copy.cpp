// A host's own library with a copy of the client inside, as a C++ program would ship it: reports one buffer.
#include "ttmem/client.h"

extern "C" __attribute__((visibility("default"))) ttmem_handle host_reports(uint64_t unique_id, uint64_t id,
                                                                            uint64_t bytes) {
    ttmem_device chip{};
    chip.unique_id = unique_id;
    chip.index = -1;
    ttmem_buffer buffer{};
    buffer.target = ttmem_device_open(&chip);
    buffer.id = id;
    buffer.reserved_bytes = bytes;
    return ttmem_buffer_alloc(&buffer);
}

extern "C" __attribute__((visibility("default"))) const char* host_journal_path() { return ttmem_journal_path(); }
