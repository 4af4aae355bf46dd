// Native work without the interpreter lock, in threads that may outlive the interpreter.
//
// Until Python 3.14 a thread that wants the lock back while the interpreter ends is ended with pthread_exit, which unwinds
// its stack: through C++ frames that must not throw, so the whole program would abort ("terminate called without an active
// exception"). Such a thread stops here instead, for the short time until the process is gone, as newer Pythons do it.
#pragma once

#include <Python.h>
#include <unistd.h>

namespace ttmem {

/// Gives the interpreter lock away until `end()` or the end of the scope.
class Released {
public:
    Released() : state_(PyEval_SaveThread()) {}
    ~Released() { end(); }
    Released(const Released&) = delete;
    Released& operator=(const Released&) = delete;

    /// Takes the lock back. Does not return if the interpreter is ending: `let_go` is called before this thread stops, but
    /// not by Python 3.14 and newer, which stop it themselves.
    template <typename LetGo>
    void end(LetGo let_go) noexcept {
        if (state_ == nullptr) return;
        try {
            PyEval_RestoreThread(state_);
        } catch (...) {  // nothing else can come: it is a C function
            let_go();
            for (;;) pause();
        }
        state_ = nullptr;
    }
    void end() noexcept {
        end([] {});
    }

private:
    PyThreadState* state_;
};

}  // namespace ttmem
