/* The smallest host: one chip, a few DRAM buffers, freed by id. Plain C, static library.
 *
 *   TTMEM=1 ./buffer_host wait        and in another terminal: ttmem ps
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ttmem/client.h"

int main(int count, char** words) {
    ttmem_device chip = {0};
    chip.unique_id = 0x1a2b;
    chip.arch = "wormhole_b0";
    chip.board = "n150";
    chip.grid_x = chip.grid_y = 8;
    chip.dram_banks = 12;
    chip.capacity_bytes[TTMEM_DRAM] = UINT64_C(12) << 30;
    const uint16_t target = ttmem_device_open(&chip);

    uint64_t reserved = 0;
    for (uint64_t id = 1; id <= 4; ++id) {
        ttmem_buffer buffer = {0};
        buffer.target = target;
        buffer.id = id;
        buffer.address = id << 20;
        buffer.type = TTMEM_BUFFER_DRAM;
        buffer.requested_bytes = id * 1000000;
        buffer.per_bank_bytes = (buffer.requested_bytes / 12 + 63) / 64 * 64; /* banks fill in lockstep */
        buffer.reserved_bytes = buffer.per_bank_bytes * 12;
        ttmem_buffer_alloc(&buffer);
        reserved += buffer.reserved_bytes;
    }
    ttmem_free_id(target, TTMEM_BUFFER, 1, TTMEM_DRAM, 0);
    reserved -= (1000000 / 12 + 63) / 64 * 64 * 12;

    const char* journal = ttmem_journal_path();
    printf("3 buffers of %" PRIu64 " bytes are alive; journal: %s\n", reserved,
           *journal ? journal : "none (set TTMEM=1 to report)");
    if (count > 1 && strcmp(words[1], "wait") == 0) {
        printf("press Enter to end\n");
        getchar();
    }
    ttmem_device_close(target);
    return 0;
}
