// Two ways to make threads come between each other: at random, and exactly where a test wants them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "support/steps.hpp"

namespace ttmem {

/// Small, fast, and the same in every run with the same seed.
class Random {
public:
    explicit Random(uint64_t seed) : state_(seed * 0x9e37'79b9'7f4a'7c15ull + 1) {}
    uint64_t next() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return state_;
    }
    /// 0 .. below - 1
    uint64_t below(uint64_t limit) { return next() % limit; }

private:
    uint64_t state_;
};

/// While it lives, every thread yields at about one in `one_in` of the marked points.
class RandomYields {
public:
    explicit RandomYields(uint32_t one_in);
    ~RandomYields();
    RandomYields(const RandomYields&) = delete;
    RandomYields& operator=(const RandomYields&) = delete;
};

/// A thread that runs `body` and stops at a marked point until reported to go on.
class ParkedThread {
public:
    ParkedThread(steps::Step step, std::function<void()> body);
    ~ParkedThread();
    ParkedThread(const ParkedThread&) = delete;
    ParkedThread& operator=(const ParkedThread&) = delete;
    /// Lets it go on to another point.
    void move_on(steps::Step step);
    /// Lets it go on, and waits for its end.
    void finish();

private:
    struct Place;
    static void stop_here(steps::Step step) noexcept;
    void wait_until_there();
    std::unique_ptr<Place> place_;
    std::thread thread_;
};

}  // namespace ttmem
