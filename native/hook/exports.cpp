// Gives every hook the name of the runtime's function it stands in for, and lists them for `ttmem doctor`.
//
// The names are set in assembler, in the translation unit that holds the hooks (all sources here are compiled as one), so
// that a mangled name stands in one place: hooks.def.
#include "hook/runtime.hpp"
#include "interpreter/sites.hpp"
#include "ttmem/client.h"
#include "writer/owner.hpp"

// Nothing runs when the hook is loaded: the client's other copies are looked for at its first call (writer/at_load.cpp).
std::atomic<const ttmem::WriterTable*> ttmem::found_owner{nullptr};

#define TTMEM_HOOK(name, mangled, gives) \
    __asm__(".globl " mangled "\n.type " mangled ", @function\n.set " mangled ", hooked_" #name);
#include "hooks.def"
#undef TTMEM_HOOK

/// One line for each: what it is, its name here, the runtime's name for it, and what it is for.
extern "C" TTMEM_API const char* ttmem_hook_names(void) {
    return ""
#define TTMEM_HOOK(name, mangled, gives) "hook\t" #name "\t" mangled "\t" gives "\n"
#include "hooks.def"
#undef TTMEM_HOOK
#define TTMEM_GETTER(name, mangled, loss) "getter\t" #name "\t" mangled "\t" loss "\n"
#include "getters.def"
#undef TTMEM_GETTER
#define TTMEM_OFFSET(name, where, gives) "offset\t" #name "\t" where "\t" gives "\n"
#include "offsets.def"
#undef TTMEM_OFFSET
        ;
}

/// Whether the lines of the Python that calls this can be recorded: empty, or why not.
extern "C" TTMEM_API const char* ttmem_hook_python(void) { return ttmem::python_trouble(); }
