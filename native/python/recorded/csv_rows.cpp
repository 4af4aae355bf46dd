#include "python/recorded/csv_rows.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace nb = nanobind;

namespace ttmem {
namespace {

/// What the numbers of a column stand for.
enum class CsvForm : uint8_t {
    number = 0,
    number_or_none = 1,  // nothing for 0
    text = 2,            // a place in a table of fields that are quoted already
    wall_time = 3,       // CLOCK_MONOTONIC; the table has pairs: from when on, and what to add; nothing for 0
    program = 4,         // nothing for 0; the program that is called 0 has the highest number
};

constexpr uint64_t kProgramZero = 0xffff'ffff'ffff;

struct CsvColumn {
    std::vector<uint64_t> numbers;
    CsvForm form = CsvForm::number;
    std::vector<std::string_view> texts;
    std::vector<uint64_t> steps;
};

std::vector<uint64_t> numbers_of(nb::handle bytes) {
    const auto held = nb::cast<nb::bytes>(bytes);
    std::vector<uint64_t> numbers(held.size() / sizeof(uint64_t));
    std::memcpy(numbers.data(), held.c_str(), numbers.size() * sizeof(uint64_t));
    return numbers;
}

// The table is a list of fields, or bytes of pairs; Python keeps them as long as the columns are read.
CsvColumn column_of(nb::handle row) {
    const auto its = nb::cast<nb::tuple>(row);
    CsvColumn column;
    column.numbers = numbers_of(its[0]);
    column.form = static_cast<CsvForm>(nb::cast<int>(its[1]));
    if (column.form == CsvForm::text)
        for (const nb::handle one : nb::cast<nb::list>(its[2])) {
            const auto text = nb::borrow<nb::bytes>(one);
            column.texts.emplace_back(text.c_str(), text.size());
        }
    if (column.form == CsvForm::wall_time) column.steps = numbers_of(its[2]);
    if (column.form == CsvForm::wall_time && column.steps.size() < 2) throw std::invalid_argument("no pair of clocks");
    return column;
}

// By the last pair that is not later, or the first.
uint64_t wall_time(const std::vector<uint64_t>& steps, uint64_t at_ns) {
    size_t low = 0, high = steps.size() / 2;
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        (steps[2 * middle] <= at_ns ? low : high) = middle;
    }
    return at_ns + steps[2 * low + 1];
}

void add_number(std::string& lines, uint64_t value) {
    char digits[20];
    const auto done = std::to_chars(digits, digits + sizeof digits, value);
    lines.append(digits, done.ptr);
}

void add_field(std::string& lines, const CsvColumn& column, size_t row) {
    const uint64_t value = column.numbers[row];
    switch (column.form) {
        case CsvForm::number:
            return add_number(lines, value);
        case CsvForm::number_or_none:
            if (value != 0) add_number(lines, value);
            return;
        case CsvForm::program:
            if (value != 0) add_number(lines, value == kProgramZero ? 0 : value);
            return;
        case CsvForm::text:
            if (value >= column.texts.size()) throw std::invalid_argument("a text that is not in its table");
            lines += column.texts[value];
            return;
        case CsvForm::wall_time:
            if (value != 0) add_number(lines, wall_time(column.steps, value));
            return;
    }
}

nb::bytes csv_rows(nb::list given) {
    std::vector<CsvColumn> columns;
    for (const nb::handle row : given) columns.push_back(column_of(row));
    const size_t count = columns.empty() ? 0 : columns[0].numbers.size();
    for (const CsvColumn& column : columns)
        if (column.numbers.size() != count) throw std::invalid_argument("columns of different lengths");
    std::string lines;
    lines.reserve(count * columns.size() * 8);
    for (size_t row = 0; row < count; ++row) {
        for (const CsvColumn& column : columns) {
            add_field(lines, column, row);
            lines.push_back(',');
        }
        lines.back() = '\n';
    }
    return nb::bytes(lines.data(), lines.size());
}

nb::bytes wall_times(nb::bytes words, nb::bytes pairs) {
    std::vector<uint64_t> times = numbers_of(words);
    const std::vector<uint64_t> steps = numbers_of(pairs);
    if (steps.size() < 2) throw std::invalid_argument("no pair of clocks");
    for (uint64_t& time : times)
        if (time != 0) time = wall_time(steps, time);
    return nb::bytes(times.data(), times.size() * sizeof(uint64_t));
}

}  // namespace

void add_csv_rows(nb::module_& module) {
    auto recording = nb::cast<nb::module_>(module.attr("recording"));
    recording.def("csv_rows", csv_rows, nb::arg("columns"));
    recording.def("wall_times", wall_times, nb::arg("words"), nb::arg("pairs"));
}

}  // namespace ttmem
