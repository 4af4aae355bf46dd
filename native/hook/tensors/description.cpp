#include "hook/tensors/description.hpp"

#include <cstring>

namespace ttmem::hook {
namespace {

// tt-metal's DataType and Layout.
struct DataType {
    std::string_view name;
    uint32_t bytes, tile_bytes;
};
constexpr DataType kDataTypes[] = {{"bfloat16", 2, 2048},  {"float32", 4, 4096},  {"uint32", 4, 4096},
                                   {"bfloat8_b", 0, 1088}, {"bfloat4_b", 0, 576}, {"uint8", 1, 1024},
                                   {"uint16", 2, 2048},    {"int32", 4, 4096}};
constexpr std::string_view kLayouts[] = {"row major", "tile"};
constexpr int kDataTypeCount = sizeof kDataTypes / sizeof *kDataTypes, kLayoutCount = 2, kTile = 1;

bool is_known(const TensorForm& form) noexcept {
    return form.data_type >= 0 && form.data_type < kDataTypeCount && form.layout >= 0 && form.layout < kLayoutCount;
}

}  // namespace

uint64_t page_bytes_of(const TensorForm& form) noexcept {
    if (!is_known(form)) return 0;
    const DataType& type = kDataTypes[form.data_type];
    if (form.layout == kTile) return type.tile_bytes;
    return form.rank == 0 ? 0 : uint64_t{form.sides[form.rank - 1]} * type.bytes;
}

TensorWords::TensorWords(const TensorForm& form) noexcept {
    for (uint32_t i = 0; i < form.rank; ++i) {
        if (i != 0) put("x");
        put(form.sides[i]);
    }
    if (form.rank != 0 && form.has_type && is_known(form)) {
        put(" ");
        put(kDataTypes[form.data_type].name);
        put(" ");
        put(kLayouts[form.layout]);
    }
    text_[length_] = '\0';
}

void TensorWords::put(std::string_view words) noexcept {
    if (length_ + words.size() >= sizeof text_) return;
    std::memcpy(text_ + length_, words.data(), words.size());
    length_ += static_cast<uint32_t>(words.size());
}

void TensorWords::put(uint32_t number) noexcept {
    char digits[10];
    uint32_t first = sizeof digits;
    do digits[--first] = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    put(std::string_view(digits + first, sizeof digits - first));
}

}  // namespace ttmem::hook
