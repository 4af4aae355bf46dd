#include "writer/writer.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "journal/environment.hpp"
#include "journal/place.hpp"
#include "writer/operations.hpp"
#include "writer/own_stack.hpp"
#include "writer/owner.hpp"

namespace ttmem {
namespace {

enum State : int { kUndecided, kMaking, kOn, kRefused, kOff };

std::atomic<uint64_t> never_alive{0};
std::atomic<int> state{kUndecided};
std::atomic<int> maker_pid{0};
std::atomic<uint64_t> excuses[kTargets];
std::atomic<std::atomic<uint64_t>*> own_alive_word{&never_alive};
thread_local __attribute__((tls_model("initial-exec"))) bool is_making = false;

uint32_t power_of_two_from(const char* name, uint32_t fallback, uint32_t least, uint32_t most) noexcept {
    const char* text = environment(name);
    if (text == nullptr || *text < '0' || *text > '9') return fallback;  // a sign would be read, too
    char* end = nullptr;
    const unsigned long asked = strtoul(text, &end, 10);
    if (end == text || *end != '\0' || asked == 0) return fallback;
    uint32_t size = least;
    while (size < asked && size < most) size *= 2;
    return size;
}

void write_line(const char* line) noexcept {
    if (write(STDERR_FILENO, line, std::strlen(line)) < 0)
        return;  // no process reads it: the host goes on all the same
}

void warn(const char* sentence) noexcept {
    char line[sizeof(NewJournal::message) + 16];
    std::snprintf(line, sizeof line - 1, "ttmem: %s", sentence);
    write_line(std::strcat(line, "\n"));
}

std::atomic<uint64_t>* make_alive_page() noexcept {
    void* page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return nullptr;
    if (madvise(page, kPage, MADV_WIPEONFORK) != 0) {
        munmap(page, kPage);
        return nullptr;
    }
    return new (page) std::atomic<uint64_t>(0);
}

// A child keeps its parent's names (targets, strings) and none of its memory. Its sequences begin above all of its
// parent's, so a handle from before the fork can never match an entry of the child.
void inherit_names(Writer& child, const Writer& parent) noexcept {
    const Header& from = *parent.header;
    Header& to = *child.header;
    const uint64_t first = from.next_sequence.load(std::memory_order_acquire) + 1;
    to.identity.first_sequence = first;
    to.next_sequence.store(first, std::memory_order_relaxed);
    uint64_t used = from.arena_used.load(std::memory_order_acquire);
    if (used > kArenaBytes) used = kArenaBytes;
    std::memcpy(child.arena, parent.arena, used);
    to.arena_used.store(used, std::memory_order_relaxed);
    to.label.store(from.label.load(std::memory_order_relaxed), std::memory_order_relaxed);
    for (uint32_t i = 0; i < kTargets; ++i) {
        const Target& old = parent.targets[i];
        Target& target = child.targets[i];
        target.descriptor.store(old.descriptor.load(std::memory_order_relaxed), std::memory_order_relaxed);
        target.unique_id.store(old.unique_id.load(std::memory_order_relaxed), std::memory_order_relaxed);
        target.state.store(old.state.load(std::memory_order_acquire), std::memory_order_relaxed);
        uint64_t alive = 0;
        for (const PoolCounters& pool : old.pools)
            alive += pool.allocs.load(std::memory_order_relaxed) - pool.frees.load(std::memory_order_relaxed);
        excuses[i].store(alive, std::memory_order_relaxed);
    }
}

// A ring that somebody set is that large or not there. One that a recorder wishes for is as large as there is room for.
struct Wish {
    Sizes sizes;
    uint32_t least = 0;  // slots of the ring
};

Wish wished_sizes() noexcept {
    Wish wish;
    wish.sizes.table = power_of_two_from("TTMEM_TABLE", kTable, kTableLeast, kTableMost);
    wish.sizes.ring_slots = wish.least = power_of_two_from("TTMEM_RING", 0, 16, kRingSlotsMost);
    if (wish.least != 0) return wish;
    wish.sizes.ring_slots = power_of_two_from("TTMEM_RING_WISH", kRingSlots, kWishedRingLeast, kRingSlotsMost);
    wish.least = environment("TTMEM_RING_WISH") != nullptr ? kWishedRingLeast : wish.sizes.ring_slots;
    return wish;
}

bool begin_largest_journal(const char* directory, NewJournal& journal) noexcept {
    const Wish wish = wished_sizes();
    Sizes sizes = wish.sizes;
    while (!begin_journal(directory, sizes, journal)) {
        if (!journal.is_too_large || sizes.ring_slots / 2 < wish.least) return false;
        sizes.ring_slots /= 2;
        journal = NewJournal{};
    }
    if (sizes.ring_slots != wish.sizes.ring_slots)
        std::snprintf(
            journal.message, sizeof journal.message,
            "%s: no room for a journal with %u events; this one has %u, and a recording may miss more of them "
            "when many come at once",
            journal.path, wish.sizes.ring_slots, sizes.ring_slots);
    return true;
}

bool make_journal(const char* directory, const Writer* parent) noexcept {
    NewJournal journal;
    if (!begin_largest_journal(directory, journal)) {
        warn(journal.message);
        return false;
    }
    Writer made;
    open_parts(made, journal.base);
    if (parent != nullptr) inherit_names(made, *parent);
    std::atomic<uint64_t>* alive = make_alive_page();
    if (alive == nullptr) {
        abandon_journal(journal);
        warn("this kernel cannot wipe a page on fork (MADV_WIPEONFORK, Linux 4.14); the program runs on untracked");
        return false;
    }
    if (!name_journal(journal)) {
        warn(journal.message);
        return false;
    }
    if (journal.message[0] != '\0' && parent == nullptr) warn(journal.message);
    made.generation = static_cast<uint32_t>(made.header->identity.nonce) | 1;
    made.swift = made.clock == kClockTsc ? made.generation : 2;  // generations are odd
    made.device = journal.device;
    made.inode = journal.inode;
    made.bytes = journal.bytes;
    made.file = journal.file;
    made.is_in_default_place = journal.is_in_default_place;
    std::memcpy(made.path, journal.path, sizeof made.path);
    if (parent == nullptr) forget_texts();
    the_writer = made;
    alive->store(kAlive, std::memory_order_release);
    own_alive_word.store(alive, std::memory_order_release);
    the_alive_word.store(alive, std::memory_order_release);
    // Zeros take the place of the parent's journal: a reader inside this process may still hold on to it.
    if (parent != nullptr)
        mmap(static_cast<void*>(parent->header), parent->bytes, PROT_READ,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    if (parent == nullptr) {
        const char* label = environment("TTMEM_LABEL");
        if (label != nullptr && *label != '\0') set_label(label);
    }
    return true;
}

const char* directory_of(const char (&path)[512], char (&directory)[512]) noexcept {
    std::memcpy(directory, path, sizeof directory);
    char* end = std::strrchr(directory, '/');
    if (end != nullptr) *end = '\0';
    return directory;
}

// Holds the state at kMaking while a journal is made; a signal handler of the same thread sees is_making.
bool make_under_flag(int from, const char* directory) noexcept {
    // Before the state: another thread that sees kMaking must not take the maker for one of before a fork.
    maker_pid.store(static_cast<int>(syscall(SYS_getpid)), std::memory_order_relaxed);
    if (!state.compare_exchange_strong(from, kMaking, std::memory_order_acq_rel)) return false;
    const bool is_child = from == kOn;  // on, but the page was wiped
    if (is_child && has_journal()) {    // another thread was faster, from the wiped page to the new one
        state.store(kOn, std::memory_order_release);
        return true;
    }
    is_making = true;
    const Writer parent = the_writer;
    char parents_directory[sizeof parent.path];
    if (is_child) directory = parent.is_in_default_place ? "" : directory_of(parent.path, parents_directory);
    const bool made = make_journal(directory, is_child ? &parent : nullptr);
    is_making = false;
    if (!made) the_alive_word.store(&never_alive, std::memory_order_release);
    state.store(made ? kOn : kRefused, std::memory_order_release);
    notify_copies(made);
    return made;
}

// Takes little of the caller's stack, and keeps errno.
bool make_on_own_stack(int from, const char* directory) noexcept {
    bool made = false;
    if (on_own_stack([&]() noexcept { made = make_under_flag(from, directory); })) return made;
    if (!state.compare_exchange_strong(from, kRefused, std::memory_order_acq_rel)) return false;
    the_alive_word.store(&never_alive, std::memory_order_release);
    notify_copies(false);
    write_line("ttmem: no memory to make a journal; the program runs on untracked\n");
    return false;
}

// Another thread is making the journal: worth a bounded wait once per process, for its calls would be lost otherwise.
bool wait_for_maker() noexcept {
    for (int tries = 0; tries < 2000 && state.load(std::memory_order_acquire) == kMaking; ++tries) {
        const timespec nap{0, 100'000};
        nanosleep(&nap, nullptr);
    }
    return state.load(std::memory_order_acquire) == kOn;
}

}  // namespace

Writer the_writer;
thread_local __attribute__((tls_model("initial-exec"))) uint64_t cached_thread = 0;
std::atomic<std::atomic<uint64_t>*> the_alive_word{&never_alive};
std::atomic<void (*)() noexcept> at_turn_off{nullptr};

__attribute__((noinline, cold)) bool prepare() noexcept {
    const SavedErrno kept;
    const int now = state.load(std::memory_order_acquire);
    if (now == kRefused || now == kOff || is_making) return false;
    if (now == kUndecided) {
        if (!is_wanted()) {
            int undecided = kUndecided;
            if (state.compare_exchange_strong(undecided, kOff, std::memory_order_acq_rel)) notify_copies(false);
            return false;
        }
        return make_on_own_stack(kUndecided, nullptr) || wait_for_maker();
    }
    if (now == kMaking) {
        if (maker_pid.load(std::memory_order_relaxed) == static_cast<int>(syscall(SYS_getpid))) return wait_for_maker();
        int making = kMaking;  // forked while the parent was making its journal: start over
        state.compare_exchange_strong(making, kUndecided, std::memory_order_acq_rel);
        return prepare();
    }
    return has_journal() || make_on_own_stack(kOn, nullptr) || wait_for_maker();  // not alive: a forked child
}

bool turn_on(const char* directory) noexcept {
    const SavedErrno kept;
    const int now = state.load(std::memory_order_acquire);
    if (now == kOn) return may_write();
    if (now == kMaking || is_making) return wait_for_maker();
    std::atomic<uint64_t>* own = own_alive_word.load(std::memory_order_acquire);
    if (now == kOff &&
        own->load(std::memory_order_acquire) == kAlive) {  // turned off before: the journal is still there
        the_alive_word.store(own, std::memory_order_release);
        state.store(kOn, std::memory_order_release);
        notify_copies(true);
        return true;
    }
    return make_on_own_stack(now, directory) || wait_for_maker();
}

void turn_off() noexcept {
    const SavedErrno kept;
    if (state.load(std::memory_order_acquire) == kOn && may_write()) end_everything();
    state.store(kOff, std::memory_order_release);
    the_alive_word.store(&never_alive, std::memory_order_release);
    notify_copies(false);
    if (auto* told = at_turn_off.load(std::memory_order_acquire)) told();
}

// In a forked child that has not reported yet the page is wiped, and the parent's journal is not the child's.
bool is_on() noexcept { return state.load(std::memory_order_acquire) == kOn && has_journal(); }

bool is_wanted() noexcept {
    const int now = state.load(std::memory_order_acquire);
    if (now == kUndecided) return is_tracking_asked_for();
    return now == kOn || now == kMaking;
}

void excuse(uint16_t target, uint64_t count) noexcept { excuses[target].fetch_add(count, std::memory_order_relaxed); }

bool take_excuse(uint16_t target) noexcept {
    uint64_t left = excuses[target].load(std::memory_order_relaxed);
    while (left > 0)
        if (excuses[target].compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) return true;
    return false;
}

bool take_excuse_of(uint64_t made_by) noexcept {
    for (uint16_t target = 0; target < kTargets; ++target)
        if (the_writer.targets[target].closed_sequence.load(std::memory_order_relaxed) > made_by && take_excuse(target))
            return true;
    return false;
}

__attribute__((noinline)) uint16_t number_thread() noexcept {
    const Writer& writer = the_writer;
    const uint32_t number = writer.header->threads_used.fetch_add(1, std::memory_order_relaxed) + 1;
    const bool has_room = number < kThreads;
    if (has_room) writer.threads[number].store(static_cast<uint32_t>(syscall(SYS_gettid)), std::memory_order_release);
    cached_thread = uint64_t{writer.generation} << 32 | (has_room ? number : 0);
    return has_room ? static_cast<uint16_t>(number) : uint16_t{0};
}

}  // namespace ttmem
