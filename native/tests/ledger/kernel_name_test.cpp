// Names of kernels with the sizes of their binaries, as readers take them apart, and the room that they get.
#include "journal/kernel_name.hpp"

#include "support/check.hpp"
#include "support/journals.hpp"
#include "writer/operations.hpp"

namespace ttmem {
namespace {

using Sizes64 = std::vector<uint64_t>;

KernelName name_of(const char* letters, size_t length) { return KernelName(std::string(letters, length)); }

uint32_t intern(const std::string& text) { return ttmem_intern(text.data(), static_cast<uint32_t>(text.size())); }

/// A kernel in one of any number of sizes.
std::string a_kernel(uint32_t number) { return std::string("reader") + '\0' + std::to_string(number); }

}  // namespace

TEST(a_name_is_followed_by_one_size_for_each_processor) {
    const KernelName compute = name_of(
        "compute\0"
        "1252,860,1428",
        21);
    CHECK_EQUAL(compute.name, "compute");
    CHECK(compute.packed_bytes == Sizes64({1252, 860, 1428}));
    CHECK(name_of("reader\0"
                  "7",
                  8)
              .packed_bytes == Sizes64({7}));
    CHECK(name_of("\0"
                  "7",
                  2)
              .name.empty());
}

TEST(a_name_alone_has_no_sizes) {
    CHECK_EQUAL(name_of("reader", 6).name, "reader");
    CHECK(name_of("reader", 6).packed_bytes.empty());
    CHECK(name_of("", 0).name.empty());
}

TEST(sizes_that_are_none_are_nobodys) {
    for (const char* sizes :
         {"", ",", "1,", ",1", "1,,2", "-1", "1 2", "x", "12345678901", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"}) {
        const KernelName told(std::string("reader") + '\0' + sizes);
        CHECK_EQUAL(told.name, "reader");
        CHECK(told.packed_bytes.empty());
    }
    CHECK(name_of("reader\0"
                  "1\0"
                  "2",
                  10)
              .packed_bytes.empty());
}

TEST(kernels_of_ever_new_sizes_leave_room_for_others) {
    track({64, 256});
    uint32_t number = 0, last = 0;
    while (last == 0 || the_writer.header->arena_used.load() < kArenaBytes / 2) last = intern(a_kernel(++number));
    const uint32_t known = intern(a_kernel(1)), by_name = intern(a_kernel(++number));
    CHECK(number > 10'000);
    CHECK_EQUAL(own_reader()->item(known, Item::text), a_kernel(1));
    CHECK_EQUAL(own_reader()->item(by_name, Item::text), "reader");
    for (uint32_t i = 0; i < 100'000; ++i) CHECK_EQUAL(intern(a_kernel(++number)), by_name);
    CHECK(intern("a phase") != 0);
    CHECK_EQUAL(the_writer.header->arena_refused.load(), 0u);
}

}  // namespace ttmem
