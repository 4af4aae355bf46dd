// What is alive now: a dense slab of entries, and an index by (target, kind, id) over it.
//
// An entry's place in the slab is its handle, so freeing by handle needs no search. For callers that only know an
// id, the index gives every key a fixed window of candidate slots: one bucket of sixteen, a cache line, in each of
// three levels (4,096, 32,768 and four times the table's size). A lookup examines the whole window, an erase empties
// its slot; nothing is ever marked or moved, so a billion ever-new ids leave no trace. Few live entries stay in
// the small first level and touch few cache lines; empty upper levels are not looked at.
//
//   slot: 0 = empty, else 11 bits of the key's hash | entry + 1 (21 bits)
//
// Two threads that allocate one key at the same instant may both enter it; each then looks at the window again, and
// the older entry gives way, so one remains.
#pragma once

#include <cstdint>

#include "writer/writer.hpp"

namespace ttmem {

inline constexpr uint32_t kNoEntry = ~0u;

struct Key {
    uint64_t id;
    uint16_t target;
    uint8_t kind;
};

/// A live entry found by its key: valid as long as its commit word still says `made_by`. On the way, the first level
/// with an empty slot in the key's window was seen too.
struct Found {
    uint32_t entry = kNoEntry;
    uint64_t made_by = 0;
    AtomicU32* slot = nullptr;
    uint32_t level = 0;
    uint32_t room = 0;   // level of the empty slots
    uint32_t empty = 0;  // one bit for each
};

uint64_t hash_of(Key key) noexcept;
inline Key key_of(const RecordCopy& words) noexcept { return {words.id, words.target(), words.kind()}; }

/// Takes a free entry, or kNoEntry when the table is full. The caller alone may write it until it is committed.
uint32_t take_entry(const Writer& writer) noexcept;

/// Gives back an entry that is not alive and no longer in the index.
void give_entry(const Writer& writer, uint32_t entry) noexcept;

/// Writes an entry taken before and makes it alive.
void commit_entry(const Writer& writer, uint32_t entry, uint64_t sequence, const RecordCopy& words) noexcept;

/// Ends a life: true for exactly one caller per life, who then owns the entry and has its words.
bool end_life(const Writer& writer, uint32_t entry, uint64_t made_by, RecordCopy& words) noexcept;

/// Asks for the lines that find() will look at; they arrive while the call takes its sequence and its stamp.
void fetch_window(const Writer& writer, uint64_t hash) noexcept;

Found find(const Writer& writer, Key key, uint64_t hash) noexcept;

/// The life of this key in an entry that had it before; 0: it is not there any more.
uint64_t life_at(const Writer& writer, Key key, uint32_t entry) noexcept;

/// False in nearly every case, at the price of one look: no other slot of the first level bears the key's tag, and the
/// levels above are empty. `looked` is what find() saw before the insert.
bool may_have_twin(const Writer& writer, uint64_t hash, const Found& looked) noexcept;

/// Another live entry of the same key than `own`, if there is one.
Found find_other(const Writer& writer, Key key, uint64_t hash, uint32_t own) noexcept;

/// False when every candidate slot is taken. `looked` is what find() saw; should it be out of date, all levels are tried.
bool insert(const Writer& writer, uint64_t hash, uint32_t entry, const Found& looked) noexcept;

/// Empties the slot that names an entry whose life the caller has ended, wherever in the key's window it is.
void erase(const Writer& writer, uint64_t hash, uint32_t entry) noexcept;
void erase(const Writer& writer, const Found& found) noexcept;

}  // namespace ttmem
