// What messages do to a book: the figures of the allocation server protocol, without its faults.
#include "server/message_rules.hpp"

#include <initializer_list>

#include "server/replies.hpp"
#include "support/check.hpp"
#include "support/server_messages.hpp"

namespace ttmem::server {
namespace {

struct Counter {
    Collector collector{false};
    MessageRules rules{collector};
    Process& process = collector.admit(Way::socket);

    Counter() { process.pid = 4711; }
    void hear(std::initializer_list<Told> all) { hear(process, all); }
    void hear(Process& by, std::initializer_list<Told> all) {
        for (const Told& told : all) {
            const std::string bytes = a_message(144, told);
            CHECK_EQUAL(rules.apply(by, bytes.data(), 1, 144, 1'000'000), size_t{1});
        }
    }
    const Device& device(int32_t id = 0) { return *collector.devices().find_server_id(id); }
    int64_t pool(int pool, int32_t id = 0) { return device(id).cell.pools[pool].used; }
    uint64_t finding(const char* name) {
        const auto& all = process.book.findings();
        const auto found = all.find(name);
        return found == all.end() ? 0 : found->second;
    }
};

using Type = MessageType;

}  // namespace

TEST(buffer_types_are_those_of_tt_metal) {
    Counter counter;
    for (uint8_t type = 0; type < 6; ++type) counter.hear({{Type::alloc, 0x100u + type, uint64_t{1} << type, 0, type}});
    CHECK_EQUAL(counter.pool(TTMEM_DRAM), 1);
    CHECK_EQUAL(counter.pool(TTMEM_L1), 2);
    CHECK_EQUAL(counter.pool(TTMEM_HOST), 4);
    CHECK_EQUAL(counter.pool(TTMEM_L1_SMALL), 8);
    CHECK_EQUAL(counter.pool(TTMEM_TRACE), 16);
    CHECK_EQUAL(counter.pool(TTMEM_POOL_UNKNOWN), 32);
    CHECK_EQUAL(counter.finding("unknown_type"), 1u);
}

TEST(the_same_address_and_size_again_is_one_holder_more) {
    Counter counter;
    counter.hear({{Type::alloc, 7, 1000}, {Type::alloc, 7, 1000}, {Type::free, 7}});
    CHECK_EQUAL(counter.pool(TTMEM_DRAM), 1000);
    counter.hear({{Type::free, 7}});
    CHECK_EQUAL(counter.pool(TTMEM_DRAM), 0);
    CHECK_EQUAL(counter.finding("replaced"), 0u);
}

TEST(the_same_address_with_another_size_replaces) {
    Counter counter;
    counter.hear({{Type::alloc, 7, 1000}, {Type::alloc, 7, 5000}});
    CHECK_EQUAL(counter.pool(TTMEM_DRAM), 5000);
    CHECK_EQUAL(counter.finding("replaced"), 1u);
    counter.hear({{Type::free, 7}});
    CHECK_EQUAL(counter.pool(TTMEM_DRAM), 0);
}

TEST(a_kernel_loaded_twice_is_counted_once) {
    Counter counter;
    counter.hear({{Type::kernel_load, 1, 917'504, 0, 1}, {Type::kernel_load, 1, 917'504, 0, 1}});
    CHECK_EQUAL(kernel_bytes(counter.device()), 917'504u);
    CHECK_EQUAL(counter.device().cell.kinds[TTMEM_KERNEL_FABRIC].count, 1);
    counter.hear({{Type::kernel_unload, 1, 0}});
    CHECK_EQUAL(kernel_bytes(counter.device()), 0u);
}

TEST(a_kernel_loaded_anew_takes_the_new_size_and_type) {
    Counter counter;
    counter.hear({{Type::kernel_load, 1, 500}, {Type::kernel_load, 1, 300}});
    CHECK_EQUAL(kernel_bytes(counter.device()), 300u);
    CHECK_EQUAL(counter.finding("shrunk_kernel"), 1u);
    counter.hear({{Type::kernel_load, 1, 300, 0, 2}});
    CHECK_EQUAL(kernel_bytes(counter.device()), 300u);
    CHECK_EQUAL(counter.device().cell.kinds[TTMEM_KERNEL_DISPATCH].used, 300);
    CHECK_EQUAL(counter.device().cell.kinds[TTMEM_KERNEL_APPLICATION].used, 0);
}

TEST(a_kernel_of_a_type_nobody_knows_is_counted_apart) {
    Counter counter;
    counter.hear({{Type::kernel_load, 1, 64, 0, 3}, {Type::kernel_load, 2, 64, 0, 255}});
    CHECK_EQUAL(counter.device().cell.kinds[TTMEM_KERNEL_UNKNOWN].count, 2);
    CHECK_EQUAL(kernel_bytes(counter.device()), 128u);
}

TEST(freeing_what_is_not_there_changes_no_figure) {
    Counter counter;
    counter.hear({{Type::cb_free, 9, 4096}, {Type::kernel_unload, 9, 4096}, {Type::free, 9}, {Type::alloc, 9, 8}});
    CHECK_EQUAL(counter.pool(TTMEM_CB), 0);
    CHECK_EQUAL(kernel_bytes(counter.device()), 0u);
    CHECK_EQUAL(counter.process.hot.unmatched_frees, 3u);
    counter.hear({{Type::free, 9}, {Type::free, 9}});
    CHECK_EQUAL(counter.finding("double_free"), 1u);
}

TEST(what_a_free_says_about_sizes_is_not_believed) {
    Counter counter;
    counter.hear({{Type::cb_alloc, 5, 4096}, {Type::cb_free, 5, 1}});
    CHECK_EQUAL(counter.pool(TTMEM_CB), 0);
    CHECK_EQUAL(counter.finding("free_size"), 1u);
    counter.hear({{Type::cb_alloc, 5, 4096}, {Type::cb_free, 5, 0}});
    CHECK_EQUAL(counter.finding("free_size"), 1u);
}

TEST(two_processes_may_use_one_address) {
    Counter counter;
    Process& other = counter.collector.admit(Way::socket);
    counter.hear({{Type::alloc, 7, 1000}});
    counter.hear(other, {{Type::alloc, 7, 2000}});
    CHECK_EQUAL(counter.pool(TTMEM_DRAM), 3000);
    counter.collector.dismiss(counter.process);
    CHECK_EQUAL(counter.pool(TTMEM_DRAM), 2000);
}

TEST(any_number_is_a_chip_and_too_many_are_unknown) {
    Counter counter;
    for (int32_t id = 0; id < 66'000; ++id) counter.hear({{Type::alloc, 1, 10, id * 3}});
    CHECK_EQUAL(counter.pool(TTMEM_DRAM, 3 * 65'534), 10);
    CHECK(counter.collector.devices().find_server_id(3 * 65'535) == nullptr);
    CHECK_EQUAL(counter.finding("devices_lost"), 66'000u - 65'535u);
    counter.hear({{Type::alloc, 2, 10, -5}});
    CHECK_EQUAL(counter.process.book.targets()[0].totals.pools[TTMEM_DRAM].used, 10 * (66'000 - 65'535 + 1));
    counter.hear({{Type::free, 2, 0, -5}, {Type::free, 1, 0, 3 * 65'999}, {Type::free, 1, 0, 3 * 65'998}});
    CHECK_EQUAL(counter.process.book.targets()[0].totals.pools[TTMEM_DRAM].used, 10 * (66'000 - 65'535 - 2));
}

TEST(sizes_beyond_reason_are_cut) {
    Counter counter;
    counter.hear({{Type::alloc, 1, ~uint64_t{0}}, {Type::alloc, 2, uint64_t{1} << 63}});
    CHECK_EQUAL(counter.pool(TTMEM_DRAM), int64_t{2} << 42);
    CHECK_EQUAL(counter.finding("clamped"), 2u);
    counter.hear({{Type::free, 1}, {Type::free, 2}});
    CHECK_EQUAL(counter.pool(TTMEM_DRAM), 0);
}

TEST(a_chip_that_a_journal_names_takes_the_place_of_its_number) {
    Counter counter;
    counter.hear({{Type::alloc, 1, 10, 4}});
    Devices& devices = counter.collector.devices();
    const uint32_t chip = devices.by_unique_id(0xabc, 1);
    DeviceDescriptor facts{};
    facts.index = 4;
    facts.dram_banks = 2;
    facts.capacity_bytes[TTMEM_DRAM] = uint64_t{16} << 30;
    devices.describe(chip, {1, Trust::user, facts}, true);
    counter.collector.drain();
    CHECK_EQUAL(devices.at(chip).cell.pools[TTMEM_DRAM].used, 10);
    const Reply reply = reply_to(a_head({Type::info_query, 0, 0, 4}), 144, devices, 0);
    Message144 whole;
    std::memcpy(&whole, reply.bytes, sizeof whole);
    CHECK_EQUAL(whole.info.dram_per_channel, 0xffff'ffffu);
    CHECK_EQUAL(reply.saturated_channel_bytes, uint64_t{8} << 30);
    CHECK_EQUAL(whole.info.total_dram, uint64_t{16} << 30);

    const uint32_t twin = devices.by_unique_id(0xdef, 1);  // now it is unknown which one it is
    devices.describe(twin, {1, Trust::user, facts}, true);
    counter.collector.drain();
    CHECK_EQUAL(devices.at(chip).cell.pools[TTMEM_DRAM].used, 0);
    CHECK_EQUAL(counter.pool(TTMEM_DRAM, 4), 10);
}

TEST(questions_are_left_to_whoever_answers_them) {
    Counter counter;
    const std::string bytes =
        a_message(72, {Type::alloc, 1, 10}) + a_message(72, {Type::query}) + a_message(72, {Type::free, 1});
    CHECK_EQUAL(counter.rules.apply(counter.process, bytes.data(), 3, 72, 1), size_t{1});
}

}  // namespace ttmem::server
