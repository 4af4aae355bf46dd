// Memory of this process read by the kernel, which answers with an error where a load would crash.
#pragma once

#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>

namespace ttmem {

/// An address that may be nonsense, as one found by a wrong row is: no object has to be there.
[[gnu::always_inline]] inline const char* beyond(const void* from, uint64_t bytes) noexcept {
    return reinterpret_cast<const char*>(reinterpret_cast<uintptr_t>(from) + bytes);
}

struct KernelReads {
    template <typename T>
    static bool read(const void* from, T& to) noexcept {
        iovec here{&to, sizeof to}, there{const_cast<void*>(from), sizeof to};
        return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(sizeof to);
    }
};

}  // namespace ttmem
