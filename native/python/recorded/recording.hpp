// `_native.recording`: what happens in a ledger, into files and back.
#pragma once

#include <nanobind/nanobind.h>

namespace ttmem {

void add_recording(nanobind::module_& module);
/// A recording as lives, into that module.
void add_lives(nanobind::module_& recording);

}  // namespace ttmem
