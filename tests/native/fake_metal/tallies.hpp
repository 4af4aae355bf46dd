// Whether every call reached the real function once, with its arguments and results unchanged.
//
// The stand-in calls its own exported functions as the runtime does, through its PLT, where a preloaded library may sit.
// The caller books what it asks and what it gets, the function books what it is asked and what it gives; sums are kept
// per name, so that any number of threads may call at once. A library in between that does its work leaves both sides
// equal.
#ifndef FAKE_METAL_TALLIES_HPP
#define FAKE_METAL_TALLIES_HPP

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <type_traits>

namespace fake {

struct Side {
    std::atomic<uint64_t> calls{0}, arguments{0}, results{0}, throws{0};
};

struct Tally {
    std::atomic<const char*> name{nullptr};
    Side caller, function;

    bool is_equal() const {
        return caller.calls == function.calls && caller.arguments == function.arguments &&
               caller.results == function.results && caller.throws == function.throws;
    }
};

constexpr unsigned kMostTallies = 64;
inline Tally tallies[kMostTallies];

inline Tally& tally(const char* name) {
    for (auto& one : tallies) {
        const char* taken = nullptr;
        if (one.name.compare_exchange_strong(taken, name) || taken == name || !std::strcmp(taken, name)) return one;
    }
    std::abort();
}

template <class T>
uint64_t word(const T& value) {
    if constexpr (std::is_pointer_v<T>) {
        return reinterpret_cast<uint64_t>(value);
    } else {
        return static_cast<uint64_t>(value);
    }
}

// Order matters, so each place has its own factor.
template <class... Ts>
uint64_t mixed(const Ts&... values) {
    uint64_t sum = 0x9E3779B97F4A7C15;
    ((sum = (sum ^ word(values)) * 0xBF58476D1CE4E5B9, sum ^= sum >> 29), ...);
    return sum;
}

template <class... Ts>
void book(Side& side, const Ts&... arguments) {
    side.calls += 1;
    side.arguments += mixed(arguments...);
}

// What the function says when it is reached, and when an exception leaves it.
class Arrived {
public:
    template <class... Ts>
    explicit Arrived(const char* name, const Ts&... arguments) : side_(tally(name).function) {
        book(side_, arguments...);
    }
    Arrived(const Arrived&) = delete;
    ~Arrived() {
        if (std::uncaught_exceptions() > passing_) side_.throws += 1;
    }

private:
    Side& side_;
    int passing_ = std::uncaught_exceptions();
};

template <class T>
T gave(const char* name, T result) {
    tally(name).function.results += mixed(result);
    return result;
}

// One call, as its caller sees it: what it asks goes in when it is made, `got` takes the result, leaving it early means
// that an exception passed.
class Asked {
public:
    template <class... Ts>
    explicit Asked(const char* name, const Ts&... arguments) : tally_(tally(name)) {
        book(tally_.caller, arguments...);
    }
    Asked(const Asked&) = delete;
    ~Asked() {
        if (!is_back_) tally_.caller.throws += 1;
    }
    void back() { is_back_ = true; }
    template <class T>
    T got(T result) {
        is_back_ = true;
        tally_.caller.results += mixed(result);
        return result;
    }

private:
    Tally& tally_;
    bool is_back_ = false;
};

// "name calls" for all that were called, with " UNEQUAL" behind those whose sides differ.
inline std::string told() {
    std::string text;
    for (const auto& one : tallies) {
        const char* name = one.name;
        if (!name) break;
        text += (text.empty() ? "" : ";") + std::string(name) + " " + std::to_string(one.function.calls.load());
        if (!one.is_equal()) text += " UNEQUAL";
    }
    return text;
}

}  // namespace fake

#endif
