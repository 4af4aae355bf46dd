// What an interpreter itself says of its structs, to hold a row of offsets.def against: the attributes of code and frame
// objects name their offsets, and types their sizes.
#pragma once

#include "interpreter/frames.hpp"

namespace ttmem {

/// Null: the row agrees with all that this interpreter reports itself; else what does not. Asks the kernel alone.
const char* check_row(const Interpreter& interpreter, const PythonRow& row) noexcept;

}  // namespace ttmem
