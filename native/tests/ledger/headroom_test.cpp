// Headroom: the lowest L1 buffer of a core less the end of its circular buffers, and whose programs reach into a buffer.
#include "ledger/places/headroom.hpp"

#include "support/check.hpp"
#include "support/collecting.hpp"

namespace ttmem {
namespace {

uint16_t open_grid(uint64_t unique_id) {
    ttmem_device device{};
    device.unique_id = unique_id;
    device.grid_x = device.grid_y = 2;
    device.dram_banks = 2;
    device.l1_banks = 4;
    return ttmem_device_open(&device);
}

void put_buffer(uint16_t chip, uint64_t id, uint64_t address, uint64_t per_bank, uint8_t type = TTMEM_BUFFER_L1) {
    ttmem_buffer buffer{};
    buffer.target = chip;
    buffer.id = id;
    buffer.address = address;
    buffer.per_bank_bytes = per_bank;
    buffer.reserved_bytes = 4 * per_bank;
    buffer.type = type;
    ttmem_buffer_alloc(&buffer);
}

void put_cb(uint16_t chip, uint64_t id, uint64_t program, uint64_t address, uint64_t size, const char* cores,
            uint16_t count) {
    ttmem_circular_buffer cb{};
    cb.target = chip;
    cb.id = id;
    cb.program = program;
    cb.address = static_cast<uint32_t>(address);
    cb.size_per_core_bytes = size;
    cb.core_count = count;
    cb.core_set = ttmem_intern(cores, static_cast<uint32_t>(strlen(cores)));
    ttmem_cb_alloc(&cb);
}

Headroom headroom_on(Collector& collector, uint64_t key) {
    settle(collector, key);
    return collector.look([&](auto& processes, Devices& devices, const Timebase&, const auto&) {
        return collector.atlas().look_at(processes, devices, 0).headroom;
    });
}

}  // namespace

TEST(headroom_is_signed_and_of_the_core_that_has_least) {
    track({256, 256});
    const uint16_t chip = open_grid(1);
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    put_cb(chip, 1, 5, 0x1000, 0x1000, "0,0-1,1", 4);
    CHECK(headroom_on(collector, key).cb_end == 0x2000u);  // no buffer: the end of L1 counts, which is known elsewhere
    CHECK(!headroom_on(collector, key).least);
    put_buffer(chip, 2, 0x9000, 0x100);
    CHECK(headroom_on(collector, key).least == 0x7000);
    put_cb(chip, 3, 6, 0x1000, 0x8800, "1,1", 1);
    const Headroom short_of = headroom_on(collector, key);
    CHECK(short_of.least == -0x800);
    CHECK(short_of.programs == (std::vector<std::pair<uint64_t, uint64_t>>{{key, 6}}));
    CHECK(short_of.is_known);
}

TEST(small_buffers_do_not_count_and_buffers_by_core_count_on_their_cores) {
    track({256, 256});
    const uint16_t chip = open_grid(1);
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    put_cb(chip, 1, 5, 0x1000, 0x1000, "0,0-0,1", 2);
    put_buffer(chip, 2, 0x9000, 0x100);
    put_buffer(chip, 3, 0x1800, 0x100, TTMEM_BUFFER_L1_SMALL);
    const ttmem_core_part parts[] = {{0x1800, ttmem_intern("1,0", 3), 1}, {0x4000, ttmem_intern("0,1", 3), 1}};
    ttmem_core_buffer by_core{};
    by_core.id = 4;
    by_core.size_per_core_bytes = 64;
    by_core.parts = parts;
    by_core.part_count = 2;
    by_core.target = chip;
    by_core.type = TTMEM_BUFFER_L1;
    ttmem_core_buffer_alloc(&by_core);
    const Headroom found = headroom_on(collector, key);
    CHECK(found.least == 0x2000);    // on core 0,1
    CHECK(found.own == 0x1800u);     // on core 1,0, which has no circular buffers
    CHECK(found.lowest == 0x9000u);  // on core 1,1
    CHECK_EQUAL(found.core_count, 3u);
    CHECK(found.programs.empty());
}

TEST(headroom_is_unknown_where_somebody_did_not_say_where_something_lies) {
    track({256, 256});
    const uint16_t chip = open_grid(1);
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    put_cb(chip, 1, 5, 0x1000, 0x1000, "0,0-1,1", 4);
    put_buffer(chip, 2, 0, 0x100);
    CHECK(!headroom_on(collector, key).is_known);
    ttmem_free_id(chip, TTMEM_BUFFER, 2, TTMEM_L1, 0);
    put_buffer(chip, 3, 0x8000, 0x100);
    CHECK(headroom_on(collector, key).is_known);
    put_cb(chip, 4, 6, 0, 0x1000, "0,0", 1);
    CHECK(!headroom_on(collector, key).is_known);
}

}  // namespace ttmem
