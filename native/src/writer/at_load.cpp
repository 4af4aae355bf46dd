// What a copy of the client does when it is loaded: it looks for the other copies. A first report may be made by a signal
// handler, which must not ask the loader: it may have interrupted it.
//
// The hook carries the client without this file. It is loaded into every program that `ttmem run` starts, and must cost those
// nothing that never report; what it reports itself is never reported by a signal handler.
#include "writer/owner.hpp"

namespace ttmem {

std::atomic<const WriterTable*> found_owner{nullptr};  // here, so that no linker leaves this file out of an archive

namespace {

// Before the constructors of the host, which may report.
__attribute__((constructor(101))) void look_for_owner_at_load() noexcept { owner(); }

}  // namespace
}  // namespace ttmem
