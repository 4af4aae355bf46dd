#include "hook/launches/operation_names.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

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

// The names of a function's namespaces, and its own last: "ttnn", "transformer", "concatenate_heads".
struct SymbolPath {
    static constexpr size_t kNames = 8;
    std::string_view names[kNames];
    size_t count = 0;

    explicit SymbolPath(std::string_view symbol) noexcept {
        if (!symbol.starts_with("_ZN")) return;
        symbol.remove_prefix(symbol.starts_with("_ZNK") ? 4 : 3);
        for (std::string_view name = take_name(symbol); !name.empty() && count < kNames; name = take_name(symbol))
            names[count++] = name;
    }

    bool has(std::string_view name) const noexcept { return std::find(names, names + count, name) != names + count; }

    // Names of types begin with a capital letter.
    bool is_machinery() const noexcept {
        if (count < 2 || names[0] != "ttnn" || has("prim") || has("device_operation") || has("detail")) return true;
        return std::any_of(names, names + count,
                           [](std::string_view name) { return name[0] >= 'A' && name[0] <= 'Z'; });
    }
};

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

bool is_users_operation(std::string_view symbol) noexcept { return !SymbolPath(symbol).is_machinery(); }

// "ttnn::operations::matmul::linear" is what users know as ttnn.linear; other namespaces are theirs, too.
void users_operation(std::string_view symbol, char* to, size_t room) noexcept {
    const SymbolPath path(symbol);
    size_t length = 0;
    const auto put = [&](std::string_view name) noexcept {
        if (length + name.size() + 2 > room) return;
        if (length != 0) to[length++] = '.';
        std::memcpy(to + length, name.data(), name.size());
        length += name.size();
    };
    if (!path.is_machinery()) {
        std::string_view last = path.names[path.count - 1];
        if (last[0] == '_' && last.size() > 1) last.remove_prefix(1);
        const bool is_sorted = path.names[1] == "operations";
        put(path.names[0]);
        for (size_t i = 1; i + 1 < path.count; ++i)
            if (!is_sorted || path.names[i] == "experimental") put(path.names[i]);
        put(last);
    }
    to[length] = '\0';
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
