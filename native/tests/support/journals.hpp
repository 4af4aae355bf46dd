// Journals for tests: a bare one driven part by part, this process's own, and a process who follows it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "journal/place.hpp"
#include "ledger/book/book.hpp"
#include "ledger/collector.hpp"
#include "reader/journal.hpp"
#include "writer/live_state.hpp"
#include "writer/operations.hpp"
#include "writer/owner.hpp"

namespace ttmem {

/// A journal that only this test knows: never named, never locked, its parts open to be driven one by one.
class BareJournal {
public:
    explicit BareJournal(Sizes sizes);
    ~BareJournal();
    BareJournal(const BareJournal&) = delete;
    BareJournal& operator=(const BareJournal&) = delete;

    Writer writer;
    std::unique_ptr<JournalReader> reader();
    Header& header() { return *writer.header; }

private:
    NewJournal journal_;
};

/// Turns on this process's own journal, in the test's directory. The environment decides its sizes, as for a user.
void track(Sizes sizes);

/// This process's own journal, read as its own collector reads it.
std::unique_ptr<JournalReader> own_reader();

/// Attaches this process's own journal.
uint64_t attach_own(Collector& collector);

/// What is alive: (target, kind, id) -> bytes charged.
using Alive = std::map<std::tuple<uint16_t, uint8_t, uint64_t>, uint64_t>;
Alive alive_in(const EntryTable& table);

/// The same from the live state itself; a key that is there twice is a failure.
Alive alive_in(const Writer& writer);

/// The number of slots taken in the index, over all levels.
uint32_t taken_slots(const Writer& writer);

/// RecordCopy of an allocation, as an operation would hand them on.
RecordCopy a_buffer(uint16_t target, uint64_t id, uint64_t bytes);
RecordCopy a_record(Type type, uint64_t sequence, const RecordCopy& words);
RecordCopy a_free(uint64_t sequence, const RecordCopy& made);

/// Reports through the C interface.
uint16_t open_chip(uint64_t unique_id);
ttmem_handle report_buffer(uint16_t target, uint64_t id, uint64_t bytes, uint8_t options = 0);
void report_free(uint16_t target, uint64_t id);

/// A reader and a book that follow a journal as a collector does, one step at a time.
class Follower {
public:
    explicit Follower(std::unique_ptr<JournalReader> journal);
    /// Scans and starts over.
    ReadResult scan();
    /// One read, applied. When the place was lost, the book is as it was.
    ReadResult read(size_t most = 16'384);
    /// Reads and scans until nothing new is there.
    void catch_up();

    std::unique_ptr<JournalReader> reader;
    Devices devices;
    Book book;
    int scan_count = 0;
    std::vector<RecordCopy> batch;
};

}  // namespace ttmem
