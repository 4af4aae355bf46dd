// A tensor in words, and the size of its pages.
#include "hook/tensors/description.cpp"  // the hook is one piece with the runtime; this part of it needs none

#include <string>

#include "support/check.hpp"

namespace ttmem::hook {
namespace {

constexpr int kBfloat16 = 0, kBfloat8 = 3, kInt32 = 7, kRowMajor = 0, kTiled = 1;

TensorForm a_form(int data_type, int layout, bool has_type = true) {
    return {4, {1, 1, 32, 14336}, has_type, data_type, layout};
}
std::string words_of(const TensorForm& form) { return TensorWords(form).text(); }

}  // namespace

TEST(a_tensor_is_told_by_its_shape_type_and_layout) {
    CHECK_EQUAL(words_of(a_form(kBfloat16, kTiled)), "1x1x32x14336 bfloat16 tile");
    CHECK_EQUAL(words_of(a_form(kInt32, kRowMajor)), "1x1x32x14336 int32 row major");
    CHECK_EQUAL(words_of({1, {7}, true, kBfloat8, kTiled}), "7 bfloat8_b tile");
    CHECK_EQUAL(words_of({}), "");
}

TEST(what_is_not_confirmed_or_not_known_is_left_out) {
    CHECK_EQUAL(words_of(a_form(kBfloat16, kTiled, false)), "1x1x32x14336");
    CHECK_EQUAL(words_of(a_form(8, kTiled)), "1x1x32x14336");
    CHECK_EQUAL(words_of(a_form(-1, kTiled)), "1x1x32x14336");
    CHECK_EQUAL(words_of(a_form(kBfloat16, 2)), "1x1x32x14336");
}

TEST(pages_are_tiles_or_rows) {
    CHECK_EQUAL(page_bytes_of(a_form(kBfloat16, kTiled)), 2048u);
    CHECK_EQUAL(page_bytes_of(a_form(kBfloat8, kTiled)), 1088u);
    CHECK_EQUAL(page_bytes_of(a_form(kInt32, kRowMajor)), 4u * 14336);
    CHECK_EQUAL(page_bytes_of(a_form(kInt32, 5)), 0u);
    CHECK_EQUAL(page_bytes_of(a_form(99, kTiled)), 0u);
    CHECK_EQUAL(page_bytes_of({0, {}, true, kInt32, kRowMajor}), 0u);
}

TEST(the_largest_tensor_fits) {
    TensorForm form{kRankMost, {}, true, kBfloat8, kRowMajor};
    for (uint32_t& side : form.sides) side = ~0u;
    CHECK(words_of(form).ends_with(" bfloat8_b row major"));
}

}  // namespace ttmem::hook
