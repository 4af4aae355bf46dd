// A stack for what takes more of one than a caller may have: finding the writer, making a journal.
//
// A report may be made by a signal handler on a stack of a few kilobytes. All that happens once per process happens here
// instead: on 256 KiB of memory that are there for as long as it takes. Signals wait meanwhile: for the kernel a thread on
// this stack is not on its signal stack, and the next signal would overwrite what a handler has there. Those that an
// instruction itself causes do not wait, since the kernel kills a process that holds them back (SIGSYS of a seccomp
// filter, say). Nor is the thread cancelled here, and errno is afterwards what it was.
#pragma once

#include <errno.h>

namespace ttmem {

/// Leaves errno as it was, whatever happens meanwhile.
class SavedErrno {
public:
    SavedErrno() noexcept : before_(errno) {}
    ~SavedErrno() noexcept { errno = before_; }
    SavedErrno(const SavedErrno&) = delete;
    SavedErrno& operator=(const SavedErrno&) = delete;

private:
    const int before_;
};

/// Calls work(data) there. False if there was no memory for a stack: then nothing was called.
bool run_on_own_stack(void (*work)(void*) noexcept, void* data) noexcept;

/// The same of anything that can be called without arguments.
template <typename Work>
bool on_own_stack(Work&& work) noexcept {
    return run_on_own_stack([](void* data) noexcept { (*static_cast<Work*>(data))(); }, &work);
}

}  // namespace ttmem
