// The exported functions of the library of operations, by their place: which of them an address lies in.
//
// The loader's own search goes through all names of a library, 40 to 110 us for each address. Here those of operations are
// put in order once, at the first launch, and are then found in a few steps.
#pragma once

#include <cstdint>
#include <string_view>

namespace ttmem::hook {

/// Where a loaded object lies, and its exported functions of operations ("_ZN4ttnn...") in the order of their places.
struct OperationLibrary {
    struct Function {
        uint32_t begin, size, name;  // from where the object was loaded; of the name from where the texts begin
    };
    OperationLibrary* next;
    uintptr_t base, begin, end;
    uintptr_t python_begin, python_end;  // the interpreter, if there is one
    const char* texts;
    uint32_t count;
    Function functions[1];  // as many as there are

    bool has(uintptr_t address) const noexcept { return address >= begin && address < end; }
    bool is_python(uintptr_t address) const noexcept { return address >= python_begin && address < python_end; }
    /// The mangled name of the function at an address; empty if none is known to be there.
    std::string_view name_at(uintptr_t address) const noexcept;
};

/// The object that an address lies in; null if there is no memory, or no such object. Made at the first question.
const OperationLibrary* library_at(uintptr_t address) noexcept;

/// The object that was asked for first; before any was, the one that goes by the name of the runtime's library of operations.
const OperationLibrary* usual_library() noexcept;

/// Objects may be gone.
void forget_operation_libraries() noexcept;

}  // namespace ttmem::hook
