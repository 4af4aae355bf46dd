// The one copy of the client that a package has, beside the Python module.
#pragma once

#include <string>

namespace ttmem {

/// Opens the library and finds the owner of this process's journal; why not, or nothing. Once, before any report.
std::string open_library();

}  // namespace ttmem
