// The only way from Python to a collector. The caller of a method of Python holds the interpreter lock, and a collector has
// a mutex of its own; taken in the wrong order, two threads would wait for each other for good. Hence three rules:
//
//   1. No thread waits for the mutex while holding the interpreter lock: it is given away first.
//   2. A thread that makes Python objects of what is in the books takes the mutex first, then the interpreter lock.
//   3. While both are held no code of Python runs. Garbage collection would run some (finalizers, callbacks), which could
//      give the interpreter lock away or ask for these books again in the same thread; so it is switched off meanwhile,
//      and only plain objects are made: numbers, texts, tuples, lists and dicts.
//
// By rule 1 the holder of the interpreter lock does not wait for the mutex, so rule 2 never waits in a circle; by rule 3
// a thread that holds both comes to an end without any other.
#pragma once

#include <Python.h>

#include "ledger/collector.hpp"
#include "python/released.hpp"

namespace ttmem {

/// No garbage collection in this process until the end of the scope. For a thread that holds the interpreter lock, and keeps it.
class CollectionOff {
public:
    CollectionOff() : was_on_(PyGC_Disable() != 0) {}
    ~CollectionOff() {
        if (was_on_) PyGC_Enable();
    }
    CollectionOff(const CollectionOff&) = delete;
    CollectionOff& operator=(const CollectionOff&) = delete;

private:
    bool was_on_;
};

/// A collector, as bindings see it.
class Books {
public:
    explicit Books(bool tap) : collector_(tap) {}

    /// `work(collector)` without the interpreter lock: it takes the mutex as it likes, and touches no Python object.
    template <typename Work>
    auto without_python(Work work) {
        const Released released;
        return work(collector_);
    }

    /// `visit(processes, devices, timebase, besides)` with both locks and freshly read figures: it makes Python objects.
    template <typename Visit>
    auto look(Visit visit) {
        Released released;
        return visited(released, collector_.hold_fresh(), visit);
    }

    /// The same with what the last pass has seen: for those who look often and need no counters.
    template <typename Visit>
    auto glance(Visit visit) {
        Released released;
        return visited(released, collector_.hold_seen(), visit);
    }

    void stop() { collector_.stop(); }            // does not wait
    EventLog& log() { return collector_.log(); }  // without a lock: see there

private:
    template <typename Visit>
    auto visited(Released& released, std::unique_lock<std::mutex> held, Visit& visit) {
        released.end([&] { held.unlock(); });  // or no thread could look while the interpreter ends
        const CollectionOff off;
        return collector_.show(visit);
    }

    Collector collector_;
};

}  // namespace ttmem
