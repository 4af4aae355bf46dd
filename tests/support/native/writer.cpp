// A program that reports on command, for tests: one line on standard input is one order, one line is its answer.
//
//   writer LOG THREADS SLOTS
//
// Orders: open, mesh, alloc, free, free_id, close, path, churn, pause, pace, replace, tids, fork, close_descriptors,
// leave_leader (see `obey`). `churn own` lets every thread allocate, replace, free and launch at full speed, each with ids
// of its own; `churn shared` lets all of them fight over the same few ids.
//
// Its log is a file mapping, so it survives kill -9. A thread writes what it is about to do, calls, and writes what is
// then alive; the log is therefore exact but for the one call that a thread has under way.
//
//   LogHead | per thread: ThreadLog, then one word per slot: bytes alive there, 0 for none
//
//   word                        writer          reader           order
//   intended, under_way         its thread      the test, later  release: before the call
//   slot words, launches, calls its thread      the test, later  release: after the call returned
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>

#include "ttmem/client.h"

namespace {

using Word = std::atomic<uint64_t>;

struct LogHead {
    Word threads, slots, spare[6];
};

struct ThreadLog {
    Word calls;      // that returned
    Word under_way;  // slot + 1 of the call under way, 0 for none
    Word intended;   // what the slot holds once that call is done
    Word launches;   // that returned
    Word launching;  // 1 while a launch is under way
    Word tid;
    Word spare[2];
};
static_assert(sizeof(ThreadLog) == 64 && sizeof(LogHead) == 64);

constexpr uint32_t kSharedIds = 12;
constexpr uint16_t kCores = 4;

uint64_t thread_count, slot_count;
std::vector<ThreadLog*> logs;
std::vector<uint16_t> targets;
std::vector<std::thread> threads;
std::atomic<bool> is_paused{true};
std::atomic<uint64_t> parked{0}, pace_ns{0}, replacing_of_8{1};

struct Random {
    uint64_t state;
    uint64_t next() {
        state ^= state << 13;
        state ^= state >> 7;
        return state ^= state << 17;
    }
    uint64_t below(uint64_t bound) { return (next() >> 16) % bound; }
};

void nap(uint64_t nanoseconds) {
    const timespec time{0, static_cast<long>(nanoseconds)};
    nanosleep(&time, nullptr);
}

ThreadLog* map_log(const char* path, uint64_t number) {
    const size_t each = sizeof(ThreadLog) + slot_count * sizeof(Word), bytes = sizeof(LogHead) + thread_count * each;
    static char* base = nullptr;
    if (base == nullptr) {
        const int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return nullptr;
        void* room = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
        if (room == MAP_FAILED) return nullptr;
        base = static_cast<char*>(room);
        auto* head = reinterpret_cast<LogHead*>(base);
        head->threads.store(thread_count);
        head->slots.store(slot_count);
    }
    return reinterpret_cast<ThreadLog*>(base + sizeof(LogHead) + number * each);
}

// ---- one thread at full speed -------------------------------------------------------------------

struct Place {  // what a slot stands for: target and kind follow from its number
    uint16_t target;
    uint8_t kind, pool, type;
};

Place place_of(uint64_t slot) {
    const uint16_t target = targets[slot % targets.size()];
    switch (slot / targets.size() % 4) {
        case 0:
            return {target, TTMEM_BUFFER, TTMEM_DRAM, TTMEM_BUFFER_DRAM};
        case 1:
            return {target, TTMEM_BUFFER, TTMEM_L1, TTMEM_BUFFER_L1};
        case 2:
            return {target, TTMEM_CIRCULAR_BUFFER, TTMEM_CB, 0};
        default:
            return {target, TTMEM_KERNEL_APPLICATION, TTMEM_KERNEL, 0};
    }
}

ttmem_handle allocate(Place place, uint64_t id, uint64_t bytes) {
    if (place.kind == TTMEM_BUFFER) {
        ttmem_buffer buffer{};
        buffer.id = id;
        buffer.target = place.target;
        buffer.type = place.type;
        buffer.reserved_bytes = bytes;
        buffer.requested_bytes = bytes;
        return ttmem_buffer_alloc(&buffer);
    }
    if (place.kind == TTMEM_CIRCULAR_BUFFER) {
        ttmem_circular_buffer cb{};
        cb.id = id;
        cb.target = place.target;
        cb.size_per_core_bytes = bytes / kCores;
        cb.core_count = kCores;
        return ttmem_cb_alloc(&cb);
    }
    ttmem_kernel kernel{};
    kernel.id = id;
    kernel.target = place.target;
    kernel.kind = place.kind;
    kernel.binary_bytes = bytes / kCores;
    kernel.exact_bytes = bytes;
    kernel.core_count = kCores;
    return ttmem_kernel_load(&kernel);
}

void free_either_way(Random& random, Place place, uint64_t id, ttmem_handle handle, uint64_t bytes) {
    if (random.below(2) == 0)
        ttmem_free(handle);
    else
        ttmem_free_id(place.target, place.kind, id, place.pool, bytes);
}

void one_own_call(Random& random, uint64_t number, ThreadLog& log, Word* alive, std::vector<ttmem_handle>& handles) {
    if (random.below(16) == 0) {
        log.launching.store(1, std::memory_order_release);
        ttmem_launch(targets[0], number + 1);
        log.launches.fetch_add(1, std::memory_order_release);
        log.launching.store(0, std::memory_order_release);
        return;
    }
    const uint64_t slot = random.below(slot_count);
    const uint64_t id = (number + 1) << 32 | slot;
    const uint64_t held = alive[slot].load(std::memory_order_relaxed);
    const bool is_allocation = held == 0 || random.below(8) < replacing_of_8.load(std::memory_order_relaxed);
    const uint64_t wanted = is_allocation ? (random.below(4096) + 1) * 64 : 0;
    const Place place = place_of(slot);
    log.intended.store(wanted, std::memory_order_release);
    log.under_way.store(slot + 1, std::memory_order_release);
    if (is_allocation)
        handles[slot] = allocate(place, id, wanted);
    else
        free_either_way(random, place, id, handles[slot], held);
    alive[slot].store(wanted, std::memory_order_release);
    log.under_way.store(0, std::memory_order_release);
}

void one_shared_call(Random& random, ttmem_handle& last) {
    const uint64_t slot = random.below(kSharedIds);
    const Place place = place_of(slot);
    const uint64_t choice = random.below(5);
    if (choice < 2)
        last = allocate(place, slot + 1, (random.below(4096) + 1) * 64);
    else if (choice < 4)
        ttmem_free_id(place.target, place.kind, slot + 1, place.pool, 0);
    else
        ttmem_free(last);
}

void work(uint64_t number, bool is_shared) {
    ThreadLog& log = *logs[number];
    auto* alive = reinterpret_cast<Word*>(&log + 1);
    Random random{0x9e37'79b9'7f4a'7c15ull * (number + 1) ^ static_cast<uint64_t>(getpid())};
    std::vector<ttmem_handle> handles(slot_count);
    ttmem_handle last = 0;
    log.tid.store(static_cast<uint64_t>(syscall(SYS_gettid)), std::memory_order_release);
    for (;;) {
        if (is_paused.load(std::memory_order_acquire)) {
            parked.fetch_add(1);
            while (is_paused.load(std::memory_order_acquire)) nap(100'000);
            parked.fetch_sub(1);
        }
        if (is_shared)
            one_shared_call(random, last);
        else
            one_own_call(random, number, log, alive, handles);
        log.calls.fetch_add(1, std::memory_order_release);
        const uint64_t pause_ns = pace_ns.load(std::memory_order_relaxed);
        if (pause_ns != 0) nap(pause_ns);
    }
}

// ---- orders -------------------------------------------------------------------------------------

uint64_t number_in(char*& rest) { return strtoull(rest, &rest, 0); }

bool is_order(const char* line, const char* name, char*& rest) {
    const size_t length = std::strlen(name);
    if (std::strncmp(line, name, length) != 0 || (line[length] != ' ' && line[length] != '\n')) return false;
    rest = const_cast<char*>(line) + length;
    return true;
}

// churn own|shared TARGET...: starts the threads, or lets them go on.
uint64_t churn(char* rest) {
    const bool is_shared = std::strstr(rest, "shared") != nullptr;
    rest += std::strcspn(rest, "0123456789");
    if (threads.empty()) {
        while (*rest >= '0' && *rest <= '9') {
            targets.push_back(static_cast<uint16_t>(number_in(rest)));
            rest += std::strspn(rest, " \n");
        }
        for (uint64_t i = 0; i < thread_count; ++i) threads.emplace_back(work, i, is_shared);
    }
    is_paused.store(false, std::memory_order_release);
    while (parked.load() != 0) nap(50'000);
    return threads.size();
}

// pause COUNT: holds the threads between two calls, and waits for that many of them.
uint64_t pause_threads(uint64_t count) {
    is_paused.store(true, std::memory_order_release);
    while (parked.load() < count) nap(50'000);
    return parked.load();
}

// A child that reports one buffer of its own as soon as it lives, and then waits for its end.
uint64_t fork_child(char* rest) {
    const auto target = static_cast<uint16_t>(number_in(rest));
    const uint64_t id = number_in(rest), bytes = number_in(rest);
    int ends[2];
    char ready = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) return 0;
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);  // it never outlives the writer
        ready = allocate({target, TTMEM_BUFFER, TTMEM_DRAM, TTMEM_BUFFER_DRAM}, id, bytes) != 0 ? 'y' : 'n';
        if (write(ends[1], &ready, 1) != 1) _exit(1);
        for (;;) pause();
    }
    close(ends[1]);
    const bool has_reported = read(ends[0], &ready, 1) == 1 && ready == 'y';
    close(ends[0]);
    return has_reported ? static_cast<uint64_t>(child) : 0;
}

uint64_t open_device(uint64_t unique_id) {
    ttmem_device device{};
    device.unique_id = unique_id;
    device.index = -1;
    device.arch = "wormhole_b0";
    return ttmem_device_open(&device);
}

uint64_t open_mesh(char* rest) {
    const uint64_t id = number_in(rest);
    std::vector<uint16_t> chips;
    for (uint64_t chip = number_in(rest); chip != 0; chip = number_in(rest))
        chips.push_back(static_cast<uint16_t>(chip));
    const auto count = static_cast<uint32_t>(chips.size());
    return ttmem_mesh_open(id, 1, static_cast<uint16_t>(count), chips.data(), count);
}

uint64_t allocate_buffer(char* rest) {
    ttmem_buffer buffer{};
    buffer.target = static_cast<uint16_t>(number_in(rest));
    buffer.id = number_in(rest);
    buffer.reserved_bytes = number_in(rest);
    buffer.options = static_cast<uint8_t>(number_in(rest));
    return ttmem_buffer_alloc(&buffer);
}

void free_by_id(char* rest) {
    const auto target = static_cast<uint16_t>(number_in(rest));
    const uint64_t id = number_in(rest), bytes = number_in(rest);
    ttmem_free_id(target, TTMEM_BUFFER, id, TTMEM_DRAM, bytes);
}

void tell_tids() {
    for (const ThreadLog* log : logs) {
        while (log->tid.load() == 0) nap(50'000);  // not begun yet
        std::printf("%" PRIu64 " ", log->tid.load());
    }
}

void obey_orders();

// The command thread leaves its place to another one and ends, as a C program's main thread may.
[[noreturn]] void leave_leader() {
    std::thread(obey_orders).detach();
    pthread_exit(nullptr);
}

void obey(char* line) {
    char* rest = nullptr;
    uint64_t answer = 0;
    if (is_order(line, "open", rest)) answer = open_device(number_in(rest));
    if (is_order(line, "mesh", rest)) answer = open_mesh(rest);
    if (is_order(line, "alloc", rest)) answer = allocate_buffer(rest);
    if (is_order(line, "free", rest)) ttmem_free(number_in(rest));
    if (is_order(line, "free_id", rest)) free_by_id(rest);
    if (is_order(line, "close", rest)) ttmem_device_close(static_cast<uint16_t>(number_in(rest)));
    if (is_order(line, "churn", rest)) answer = churn(rest);
    if (is_order(line, "pause", rest)) answer = pause_threads(number_in(rest));
    if (is_order(line, "pace", rest)) pace_ns.store(number_in(rest));
    if (is_order(line, "replace", rest)) replacing_of_8.store(number_in(rest));
    if (is_order(line, "fork", rest)) answer = fork_child(rest);
    if (is_order(line, "close_descriptors", rest)) answer = static_cast<uint64_t>(close_range(3, ~0u, 0));
    if (is_order(line, "tids", rest)) tell_tids();
    if (is_order(line, "path", rest)) std::printf("%s ", ttmem_journal_path());
    std::printf("%" PRIu64 "\n", answer);
    std::fflush(stdout);
    if (is_order(line, "leave_leader", rest)) leave_leader();
}

void obey_orders() {
    char line[1024];
    while (std::fgets(line, sizeof line, stdin) != nullptr) obey(line);
    _exit(0);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 4) return 2;
    thread_count = strtoull(arguments[2], nullptr, 10);
    slot_count = strtoull(arguments[3], nullptr, 10);
    std::signal(SIGCHLD, SIG_IGN);  // children are not waited for
    for (uint64_t i = 0; i < thread_count; ++i) {
        logs.push_back(map_log(arguments[1], i));
        if (logs.back() == nullptr) return 3;
    }
    obey_orders();
}
