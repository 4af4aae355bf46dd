// The bytes of every shared struct, reported to Python so that a test can compare both languages field by field.
#pragma once

#include <nanobind/nanobind.h>

namespace ttmem {

nanobind::dict layouts();

}  // namespace ttmem
