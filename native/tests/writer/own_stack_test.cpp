// What happens once per process takes a stack of its own, not the caller's, and the caller notices nothing of it.
#include "writer/own_stack.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "support/check.hpp"
#include "ttmem/client.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TTMEM_HAS_LARGE_FRAMES 1  // sanitizers make them so
#else
#define TTMEM_HAS_LARGE_FRAMES 0
#endif

namespace ttmem {
namespace {

constexpr size_t kPaintedBytes = 4 << 20;  // thread sanitizers ask for one
constexpr long kMost = 2 << 10;
constexpr char kPaint = 0x5a;

struct Painted {
    void (*call)();
    std::vector<char> memory = std::vector<char>(kPaintedBytes + 4096);
    char* lowest() { return memory.data() + 4096 - reinterpret_cast<uintptr_t>(memory.data()) % 4096; }
    long used = 0;
    int errno_after = 0;
};

__attribute__((noinline)) void* measure(void* room) {
    auto& painted = *static_cast<Painted*>(room);
    const auto* here = static_cast<const char*>(__builtin_frame_address(0));
    const char* end = TTMEM_HAS_LARGE_FRAMES ? painted.lowest() : here - 1024;
    std::memset(painted.lowest(), kPaint, static_cast<size_t>(end - painted.lowest()));
    errno = 1234;
    painted.call();
    painted.errno_after = errno;
    const char* touched = painted.lowest();
    while (touched < end && *touched == kPaint) ++touched;
    painted.used = TTMEM_HAS_LARGE_FRAMES ? 0 : here - touched;
    return nullptr;
}

// How much of the caller's stack a call takes, at least 1 KiB; 0 where that cannot be known.
long stack_used_by(void (*call)()) {
    Painted painted{call};
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, painted.lowest(), kPaintedBytes - 4096);
    REQUIRE(pthread_create(&thread, &attributes, measure, &painted) == 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    CHECK_EQUAL(painted.errno_after, 1234);
    return painted.used;
}

void want_small_journals() {
    setenv("TTMEM", "1", 1);
    setenv("TTMEM_TABLE", "64", 1);
    setenv("TTMEM_RING", "16", 1);
}

void report_one() { ttmem_launch(0, 1); }
ttmem_handle report_for_its_stack() {
    ttmem_buffer buffer{};
    buffer.id = 1;
    buffer.requested_bytes = 100;
    return ttmem_buffer_alloc(&buffer);
}
void open_a_chip() {
    static const ttmem_device chip{};
    ttmem_device_open(&chip);
}
void open_a_large_mesh() {
    static uint16_t chips[200];
    ttmem_mesh_open(5, 1, 200, chips, 200);
}

bool is_on_stack_of(const char* where, const char* caller) {
    const auto distance = where < caller ? caller - where : where - caller;
    return distance < (64 << 10);
}

std::atomic<int> signals_seen{0};

// Where each frame continues, from the innermost one.
std::vector<uintptr_t> frames() {
    std::vector<uintptr_t> found;
    _Unwind_Backtrace(
        [](_Unwind_Context* context, void* to) {
            static_cast<std::vector<uintptr_t>*>(to)->push_back(_Unwind_GetIP(context));
            return _URC_NO_REASON;
        },
        &found);
    return found;
}

}  // namespace

TEST(work_runs_on_other_memory_than_its_callers_stack) {
    char here = 0;
    bool is_same = true;
    CHECK(on_own_stack([&]() noexcept {
        volatile char there = 0;
        is_same = is_on_stack_of(const_cast<const char*>(&there), &here);
    }));
    CHECK(!is_same);
}

TEST(work_may_take_most_of_its_stack_and_use_it_again_and_again) {
    for (int i = 0; i < 100; ++i) {
        long sum = 0;
        CHECK(on_own_stack([&]() noexcept {
            volatile char room[200 << 10];
            for (size_t at = 0; at < sizeof room; at += 1024) room[at] = 1;
            for (size_t at = 0; at < sizeof room; at += 1024) sum += room[at];
        }));
        CHECK_EQUAL(sum, 200);
    }
}

TEST(debuggers_and_profilers_find_the_caller) {
    std::vector<uintptr_t> outside = frames(), inside;
    on_own_stack([&]() noexcept { inside = frames(); });
    REQUIRE(outside.size() > 2 && inside.size() > outside.size());
    outside.erase(outside.begin(), outside.begin() + 2);  // frames() and this function, which has gone on meanwhile
    CHECK(std::equal(outside.rbegin(), outside.rend(), inside.rbegin()));
}

TEST(errno_is_what_it_was) {
    errno = 1234;
    on_own_stack([]() noexcept { errno = ENOENT; });
    CHECK_EQUAL(errno, 1234);
}

TEST(a_signal_waits_until_the_work_is_done) {
    signal(SIGUSR1, [](int) { signals_seen.fetch_add(1); });
    int seen_inside = -1;
    on_own_stack([&]() noexcept {
        kill(getpid(), SIGUSR1);
        seen_inside = signals_seen.load();
    });
    usleep(0);  // sanitizers hand a signal on at a call of this kind
    CHECK_EQUAL(seen_inside, 0);
    CHECK_EQUAL(signals_seen.load(), 1);
}

TEST(signals_that_were_blocked_stay_blocked_and_no_others) {
    sigset_t blocked, after;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    sigaddset(&blocked, SIGSEGV);
    pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
    on_own_stack([]() noexcept {});
    pthread_sigmask(SIG_SETMASK, nullptr, &after);
    CHECK(sigismember(&after, SIGUSR2) == 1 && sigismember(&after, SIGSEGV) == 1);
    CHECK(sigismember(&after, SIGUSR1) == 0 && sigismember(&after, SIGTERM) == 0);
}

TEST(a_thread_that_is_to_be_cancelled_makes_its_journal_first) {
    want_small_journals();
    pthread_t thread;
    pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
            pthread_cancel(pthread_self());  // takes effect at the next call that may wait
            report_one();
            pthread_testcancel();
            return nullptr;
        },
        nullptr);
    void* ended = nullptr;
    pthread_join(thread, &ended);
    CHECK(ended == PTHREAD_CANCELED);
    CHECK(*ttmem_journal_path() != '\0');
    CHECK(report_for_its_stack() != 0);
}

TEST(without_memory_for_a_stack_the_program_runs_on_untracked) {
    want_small_journals();
    if (TTMEM_HAS_LARGE_FRAMES) check::skip("sanitizers need more memory than this limit leaves");
    const rlimit none{1 << 20, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &none);
    errno = 1234;
    CHECK(report_for_its_stack() == 0);
    CHECK_EQUAL(errno, 1234);
    CHECK_EQUAL(ttmem_tracking, 0);
}

TEST(a_first_report_takes_two_kilobytes_of_the_callers_stack) {
    want_small_journals();
    CHECK(stack_used_by(report_one) <= kMost);
    CHECK(*ttmem_journal_path() != '\0');
}

TEST(naming_chips_and_meshes_takes_two_kilobytes_of_the_callers_stack) {
    want_small_journals();
    CHECK(stack_used_by(open_a_chip) <= kMost);
    CHECK(stack_used_by(open_a_large_mesh) <= kMost);
}

TEST(a_first_report_of_a_forked_child_takes_two_kilobytes_of_the_callers_stack) {
    want_small_journals();
    report_one();
    const pid_t child = fork();
    if (child == 0) {
        CHECK(stack_used_by(report_one) <= kMost);
        CHECK(*ttmem_journal_path() != '\0');
        _exit(check::has_failed() ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK_EQUAL(status, 0);
}

TEST(a_first_call_with_tracking_off_takes_two_kilobytes_of_the_callers_stack) {
    CHECK(stack_used_by(report_one) <= kMost);
    CHECK_EQUAL(ttmem_tracking, 0);
}

TEST(a_refused_journal_takes_two_kilobytes_of_the_callers_stack) {
    want_small_journals();
    setenv("TTMEM_DIR", "/proc/nowhere", 1);
    CHECK(stack_used_by(report_one) <= kMost);
    CHECK_EQUAL(ttmem_tracking, 0);
}

TEST(turning_tracking_on_and_off_keeps_errno) {
    want_small_journals();
    setenv("TTMEM_DIR", "/proc/nowhere", 1);
    errno = 1234;
    CHECK_EQUAL(ttmem_enable(nullptr), 0);
    CHECK_EQUAL(errno, 1234);
    CHECK_EQUAL(ttmem_enable(check::directory().c_str()), 1);
    CHECK_EQUAL(errno, 1234);
    ttmem_disable();
    CHECK_EQUAL(errno, 1234);
}

}  // namespace ttmem
