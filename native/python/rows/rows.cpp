#include "python/rows/rows.hpp"

namespace nb = nanobind;

namespace ttmem {

nb::str text(const std::string& bytes) {
    return nb::steal<nb::str>(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

nb::tuple size_row(const std::vector<uint64_t>& sizes) {
    nb::list row;
    for (const uint64_t size : sizes) row.append(size);
    return nb::tuple(row);
}

nb::object program_object(uint64_t reported) {
    const MaybeCount number = program_number(reported);
    return number ? nb::cast(*number) : nb::object(nb::none());
}

}  // namespace ttmem
