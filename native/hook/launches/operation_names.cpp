#include "hook/launches/operation_names.hpp"

#include <cstddef>

namespace ttmem::hook {
namespace {

bool is_digit(char letter) noexcept { return letter >= '0' && letter <= '9'; }

// "10operations" -> "operations", and the text moves on; "" if there is no name here.
std::string_view take_name(std::string_view& text) noexcept {
    size_t length = 0, digits = 0;
    for (; digits < text.size() && digits < 4 && is_digit(text[digits]); ++digits)
        length = length * 10 + static_cast<size_t>(text[digits] - '0');
    if (digits == 0 || length == 0 || length > text.size() - digits) return {};
    const std::string_view name(text.data() + digits, length);
    text.remove_prefix(digits + length);
    return name;
}

// What stands for a name that was said before: "S_", "S1_", "St".
void skip_substitute(std::string_view& text) noexcept {
    if (!text.starts_with('S')) return;
    const size_t end = text.starts_with("St") ? 1 : text.find('_');
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
}

}  // namespace

std::string_view operation_in_symbol(std::string_view symbol) noexcept {
    constexpr std::string_view kAdapter = "MeshDeviceOperationAdapterI";
    const size_t place = symbol.find(kAdapter);
    if (place == std::string_view::npos) return {};
    symbol.remove_prefix(place + kAdapter.size());
    if (symbol.starts_with('N')) symbol.remove_prefix(1);
    skip_substitute(symbol);
    std::string_view last;
    for (std::string_view name = take_name(symbol); !name.empty(); name = take_name(symbol)) last = name;
    return last;
}

std::string_view family_in_path(std::string_view path) noexcept {
    constexpr std::string_view kOperations = "ttnn/operations/", kDevice = "/device/";
    const size_t place = path.find(kOperations);
    if (place == std::string_view::npos) return {};
    path.remove_prefix(place + kOperations.size());
    const size_t end = path.find(kDevice);
    return end == std::string_view::npos ? std::string_view() : std::string_view(path.data(), end);
}

bool is_shared_family(std::string_view family) noexcept {
    return family == "eltwise/unary" || family == "data_movement/common";
}

}  // namespace ttmem::hook
