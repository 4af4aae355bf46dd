// A reporting process that another program directs: `puppet LIVE_COUNT id|handle|socket CHIP_COUNT [SOCKET_PATH]`.
//
// Says "ready JOURNAL_PATH", then obeys one command per line of standard input and answers each with one line:
//
//   bursts COUNT EVENTS PAUSE_US     COUNT bursts of EVENTS with a pause after each  -> net CPU ns per event
//   pace RATE SECONDS MARKS_PATH     RATE events a second; every 5 ms one byte more of TRACE memory, and the
//                                    time of that in the marks file                  -> number of marks
//
// and ends with the input. With `socket` it reports to the old design's server instead.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <sstream>
#include <thread>

#include "measure/live_set.hpp"

using namespace measure;

namespace {

constexpr uint64_t kMarkPeriodNs = 5'000'000;
constexpr uint64_t kTickNs = 100'000;
constexpr uint64_t kTurnsPerTickMost = 1'000;  // a way that cannot keep the pace still marks
constexpr size_t kMarksMost = 65'536;

struct Marks {  // number of marks, then the time of each; `count` is stored after the time (release)
    std::atomic<uint64_t> count;
    uint64_t times_ns[kMarksMost - 1];
};

Marks* map_marks(const std::string& path) {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof(Marks)) != 0) throw std::runtime_error("cannot make " + path);
    void* at = mmap(nullptr, sizeof(Marks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
    close(file);
    if (at == MAP_FAILED) throw std::runtime_error("cannot map " + path);
    return static_cast<Marks*>(at);
}

void wait_until(uint64_t time_ns) {
    const timespec at{static_cast<time_t>(time_ns / 1'000'000'000), static_cast<long>(time_ns % 1'000'000'000)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
}

/// What a way of reporting must offer besides allocating and freeing.
struct Means {
    std::function<void(uint64_t)> mark;  // one byte more of TRACE memory
    std::function<void()> settle;        // returns when everything reported has arrived
};

template <typename Way>
class Puppet {
public:
    Puppet(Way way, Means means, uint32_t live_count)
        : means_(std::move(means)), set_(way, live_count), nothing_({}, live_count) {
        means_.settle();
    }

    double bursts(uint64_t count, uint64_t events, uint64_t pause_us) {
        double spent_ns = 0;
        for (uint64_t i = 0; i < count; ++i) {
            const uint64_t turns = events / kEventsPerTurn;
            const double empty_ns = batch_mean_ns([&](uint64_t n) { nothing_.turn(n); }, turns, kEventsPerTurn);
            spent_ns += batch_mean_ns([&](uint64_t n) { set_.turn(n); }, turns, kEventsPerTurn) - empty_ns;
            if (pause_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
        }
        means_.settle();
        return spent_ns / static_cast<double>(count);
    }

    uint64_t pace(double events_per_second, double seconds, const std::string& marks_path) {
        Marks* marks = map_marks(marks_path);
        const uint64_t began_ns = now_ns();
        const auto length_ns = static_cast<uint64_t>(seconds * 1e9);
        uint64_t marked = 0;
        uint64_t turns_done = 0;
        for (uint64_t at_ns = 0; at_ns < length_ns; at_ns = now_ns() - began_ns) {
            const double turns_due = static_cast<double>(at_ns) * 1e-9 * events_per_second / kEventsPerTurn;
            const auto due = static_cast<uint64_t>(turns_due);
            const uint64_t turns = std::min(due - std::min(due, turns_done), kTurnsPerTickMost);
            set_.turn(turns);
            turns_done += turns;
            if (at_ns >= marked * kMarkPeriodNs && marked < kMarksMost - 1) {
                means_.mark(++marked);
                marks->times_ns[marked - 1] = now_ns();
                marks->count.store(marked, std::memory_order_release);
            }
            wait_until(events_per_second > 0 ? now_ns() + kTickNs : began_ns + marked * kMarkPeriodNs);
        }
        munmap(marks, sizeof(Marks));
        return marked;
    }

private:
    Means means_;
    LiveSet<Way> set_;
    LiveSet<ByNothing> nothing_;
};

template <typename Way>
int obey(Way way, Means means, uint32_t live_count, const std::string& journal_path) {
    Puppet<Way> puppet(way, std::move(means), live_count);
    std::cout << "ready " << journal_path << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string verb;
        words >> verb;
        if (verb == "bursts") {
            uint64_t count = 0, events = 0, pause_us = 0;
            words >> count >> events >> pause_us;
            std::cout << puppet.bursts(count, events, pause_us) << std::endl;
        } else if (verb == "pace") {
            double rate = 0, seconds = 0;
            std::string marks_path;
            words >> rate >> seconds >> marks_path;
            std::cout << puppet.pace(rate, seconds, marks_path) << std::endl;
        } else {
            std::cerr << "puppet: unknown command: " << line << std::endl;
            return 2;
        }
    }
    return 0;
}

int obey_with_ttmem(const std::string& way, uint32_t live_count, uint32_t chip_count) {
    const uint16_t target = open_target(chip_count);
    const auto mark = [target](uint64_t number) {
        const ttmem_buffer byte{.id = number,
                                .address = 0,
                                .requested_bytes = 1,
                                .reserved_bytes = 1,
                                .per_bank_bytes = 0,
                                .site = 0,
                                .target = target,
                                .type = TTMEM_BUFFER_TRACE,
                                .options = TTMEM_BY_HANDLE};
        ttmem_buffer_alloc(&byte);
    };
    const std::string journal_path = ttmem_journal_path();
    const Means means{mark, [] {}};
    if (way == "id") return obey(ById{target}, means, live_count, journal_path);
    return obey(ByHandle{target}, means, live_count, journal_path);
}

int obey_with_socket(const std::string& socket_path, uint32_t live_count) {
    baseline::Client client(socket_path);
    const auto mark = [&client](uint64_t number) {
        client.report_alloc(0, (uint64_t{1} << 40) + number, 1, TTMEM_BUFFER_TRACE);
    };
    return obey(BySend{&client}, {mark, [&client] { client.query(0); }}, live_count, "");
}

}  // namespace

int main(int argument_count, char** arguments) {
    if (argument_count < 4) {
        std::cerr << "usage: puppet LIVE_COUNT id|handle|socket CHIP_COUNT [SOCKET_PATH]\n";
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const std::string way = arguments[2];
    const auto live_count = static_cast<uint32_t>(std::strtoul(arguments[1], nullptr, 10));
    const auto chip_count = static_cast<uint32_t>(std::strtoul(arguments[3], nullptr, 10));
    try {
        if (way == "socket") return obey_with_socket(argument_count > 4 ? arguments[4] : "", live_count);
        return obey_with_ttmem(way, live_count, chip_count);
    } catch (const std::exception& error) {
        std::cerr << "puppet: " << error.what() << "\n";
        return 1;
    }
}
