// Getters of a buffer, read: what they load is found out, and whatever does more than that is called.
#include "hook/fields.cpp"  // the hook is one piece with the runtime; this part of it needs none

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "support/check.hpp"

namespace ttmem::hook {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint8_t kReturn = 0xc3;

Bytes joined(std::initializer_list<Bytes> parts) {
    Bytes all;
    for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

const Bytes kToHidden{0x48, 0x8b, 0x47, 0x10};  // mov 0x10(%rdi), %rax

Bytes a_field(Bytes load) { return joined({kToHidden, load, {kReturn}}); }

// As g++ and clang compile them: without an offset, with one of a byte, with one of four.
struct Getters {
    Bytes id = a_field({0x48, 0x8b, 0x80, 0x18, 0x02, 0x00, 0x00});
    Bytes size = a_field({0x48, 0x8b, 0x40, 0x08});
    Bytes page_size = a_field({0x48, 0x8b, 0x40, 0x48});
    Bytes device = a_field({0x48, 0x8b, 0x00});
    Bytes type = a_field({0x8b, 0x40, 0x10});
    Bytes layout = a_field({0x8b, 0x40, 0x14});
    Bytes address = joined({kToHidden, {0x80, 0x78, 0x38, 0x00, 0x74, 0x04, 0x8b, 0x40, 0x40, kReturn}});
    Bytes allocator = joined({{0x50}, kToHidden, {0x48, 0x8b, 0x78, 0x30, 0xe8}});

    std::vector<Bytes*> all() { return {&id, &size, &page_size, &device, &type, &layout, &address, &allocator}; }
};

bool are_known(const Getters& getters, BufferFields& fields) {
    read_getters({getters.id.data(), getters.size.data(), getters.page_size.data(), getters.device.data(),
                  getters.type.data(), getters.layout.data(), getters.address.data(), getters.allocator.data()},
                 fields);
    return fields.state.load() == FieldsState::read;
}

bool are_known(const Getters& getters) {
    BufferFields fields{};
    return are_known(getters, fields);
}

// What a buffer hides, as these getters have it.
struct Hidden {
    const void* device;
    uint64_t size;
    uint32_t type, layout;
    char others[24];
    const void* allocator;
    uint8_t has_address;
    uint32_t address;
    uint64_t page_size;
    char more[0x218 - 0x48];
    uint64_t id;
};
static_assert(offsetof(Hidden, allocator) == 0x30 && offsetof(Hidden, address) == 0x3c &&
              offsetof(Hidden, id) == 0x218);

struct Buffer {
    char others[16];
    const Hidden* hidden;
};

}  // namespace

TEST(what_getters_load_is_found_in_a_buffer) {
#if defined(__x86_64__)
    Getters getters;
    getters.address[12] = 0x3c;
    getters.page_size[7] = 0x40;
    BufferFields fields{};
    CHECK(are_known(getters, fields));
    Hidden hidden{};
    hidden.device = &fields;
    hidden.size = 1ull << 33;
    hidden.type = 3;
    hidden.layout = 2;
    hidden.allocator = &getters;
    hidden.address = 4'096;
    hidden.page_size = 2'048;
    hidden.id = 77;
    const Buffer buffer{{}, &hidden};
    const BufferLook look(fields, &buffer);
    CHECK_EQUAL(look.address(), 0u);  // it has none
    hidden.has_address = 1;
    CHECK_EQUAL(look.address(), 4'096u);
    CHECK_EQUAL(look.size(), 1ull << 33);
    CHECK_EQUAL(look.page_size(), 2'048u);
    CHECK_EQUAL(look.id(), 77u);
    CHECK_EQUAL(look.type(), 3);
    CHECK_EQUAL(look.layout(), 2);
    CHECK(look.device() == &fields);
    CHECK(look.allocator() == &getters);
#endif
}

TEST(a_mark_at_the_beginning_is_passed_over) {
#if defined(__x86_64__)
    Getters getters;
    for (Bytes* code : getters.all()) *code = joined({{0xf3, 0x0f, 0x1e, 0xfa}, *code});
    BufferFields marked{}, plain{};
    CHECK(are_known(getters, marked));
    CHECK(are_known(Getters{}, plain));
    CHECK_EQUAL(marked.id, plain.id);
    CHECK_EQUAL(marked.allocator, plain.allocator);
#endif
}

TEST(nothing_behind_the_end_of_a_function_is_looked_at) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    auto* code =
        static_cast<uint8_t*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    CHECK(code != MAP_FAILED);
    CHECK_EQUAL(mprotect(code + page, page, PROT_NONE), 0);
    for (const Bytes& last : {Bytes{kReturn}, Bytes{0xf3, kReturn}, Bytes{0xf3, 0x0f, kReturn}}) {  // like a mark
        const uint8_t* function = code + page - last.size();
        std::memcpy(code + page - last.size(), last.data(), last.size());
        BufferFields fields{};
        read_getters({function, function, function, function, function, function, function, function}, fields);
        CHECK(fields.state.load() == FieldsState::none);
    }
    munmap(code, 2 * page);
}

TEST(any_other_instruction_and_nothing_is_known) {
#if defined(__x86_64__)
    CHECK(are_known(Getters{}));
    const std::size_t count = Getters{}.all().size();
    for (std::size_t which = 0; which < count; ++which)
        for (std::size_t place = 0; place < Getters{}.all()[which]->size(); ++place)
            for (const uint8_t flip : {uint8_t{0x01}, uint8_t{0x80}}) {
                Getters getters;
                Bytes& code = *getters.all()[which];
                code[place] = static_cast<uint8_t>(code[place] ^ flip);
                code.resize(code.size() + 8);  // another instruction may be longer, and has all of its bytes
                BufferFields now{}, before{};
                if (!are_known(getters, now)) continue;
                // Only an offset may be another one, or the way to where a complaint is made.
                are_known(Getters{}, before);
                const bool is_branch = which == 6 && place == 9;
                const bool is_moved = now.id != before.id || now.size != before.size || now.type != before.type ||
                                      now.page_size != before.page_size || now.layout != before.layout ||
                                      now.address != before.address || now.has_address != before.has_address ||
                                      now.allocator != before.allocator || now.device != before.device;
                CHECK(is_branch || is_moved);
            }
#endif
}

TEST(a_getter_that_is_missing_or_goes_elsewhere_leaves_nothing_known) {
    BufferFields fields{};
    fields.state.store(FieldsState::confirmed);
    read_getters({}, fields);
    CHECK(fields.state.load() == FieldsState::none);
    CHECK(!fields.are_sure());
    Getters other;
    other.size[3] = 0x18;  // from another place in the buffer
    CHECK(!are_known(other));
    Getters before_it;
    before_it.size[7] = 0xf8;  // an offset below 0
    CHECK(!are_known(before_it));
    Getters far;
    far.id[8] = 0x20;  // an offset beyond what an object has
    CHECK(!are_known(far));
}

TEST(fields_confirm_others_that_say_the_same_or_nothing) {
    BufferFields nothing{};
    CHECK(nothing.confirm(nothing));
#if defined(__x86_64__)
    BufferFields first{}, again{};
    CHECK(are_known(Getters{}, first) && are_known(Getters{}, again));
    first.state.store(FieldsState::confirmed);
    CHECK(again.confirm(first));
    CHECK(again.confirm(nothing));
    CHECK(!nothing.confirm(first));
    struct Offset {
        std::size_t getter, place;
    };
    for (const auto& [getter, place] : {Offset{0, 7}, {1, 7}, {2, 7}, {4, 6}, {5, 6}, {6, 6}, {6, 12}, {7, 8}}) {
        Getters moved;
        uint8_t& offset = (*moved.all()[getter])[place];
        offset = static_cast<uint8_t>(offset + 0x18);
        BufferFields other{};
        CHECK(are_known(moved, other));
        CHECK(!other.confirm(first));
    }
    Getters elsewhere;
    for (Bytes* code : elsewhere.all()) (*code)[code == &elsewhere.allocator ? 4 : 3] = 0x18;
    BufferFields other{};
    CHECK(are_known(elsewhere, other));
    CHECK(!other.confirm(first));
#endif
}

}  // namespace ttmem::hook
