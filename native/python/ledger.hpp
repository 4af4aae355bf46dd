// What Python calls a ledger.
#pragma once

#include <mutex>

#include "ledger/checkpoint.hpp"
#include "python/books.hpp"

namespace ttmem {

/// A collector, and what it last wrote of processes that report by socket and cannot be read again.
struct Ledger : Books {
    explicit Ledger(bool has_tap = false)
        : Books(has_tap), checkpoint(without_python([](Collector& collector) { return Checkpoint(collector); })) {}
    Checkpoint checkpoint;
    std::mutex checkpointing;  // waited for as a collector's mutex is: without the interpreter lock
};

/// Calls a method of the collector without the interpreter lock.
template <auto method, typename... Values>
auto without_python(Books& books, Values... values) {
    return books.without_python([&](Collector& collector) { return (collector.*method)(values...); });
}

}  // namespace ttmem
