// The smallest possible test frame: a test is a sentence and a body, and runs in a process of its own.
//
//   TEST(a_free_of_nothing_does_nothing) { CHECK_EQUAL(count(), 0u); }
//
// A process each, because a process has one writer: every test starts without a journal, may crash or hang (the frame
// ends it after a while) and leaves nothing behind. Each gets an empty directory of its own, removed afterwards.
#pragma once

#include <functional>
#include <sstream>
#include <string>

namespace check {

struct Case {
    Case(const char* sentence, void (*run)());
    const char* name;
    void (*body)();
    Case* next;
};

/// The test's own directory.
const std::string& directory();

/// Notes a failure; the test goes on, so that destructors run.
void fail(const char* file, int line, const std::string& what);

/// Whether anything has failed so far.
bool has_failed();

/// Ends a test that cannot be done here, with the reason.
[[noreturn]] void skip(const char* reason);

/// Runs a test's second half in a child; its failures are the test's.
void in_child(const std::function<void()>& body);

/// Ends the test at once: going on would crash or hang.
[[noreturn]] void give_up();

template <typename Value>
std::string shown(const Value& value) {
    std::ostringstream text;
    if constexpr (requires { text << +value; })
        text << +value;
    else if constexpr (requires { text << value; })
        text << value;
    else
        text << "something";
    return text.str();
}

template <typename Found, typename Expected>
bool is_equal(const Found& found, const Expected& expected, const char* text, const char* file, int line) {
    if (found == expected) return true;
    fail(file, line, std::string(text) + ": found " + shown(found) + ", expected " + shown(expected));
    return false;
}

}  // namespace check

#define TEST(sentence)                                             \
    static void sentence();                                        \
    static const check::Case case_##sentence(#sentence, sentence); \
    static void sentence()

#define CHECK(claim)                                                      \
    do {                                                                  \
        if (!(claim)) check::fail(__FILE__, __LINE__, "not so: " #claim); \
    } while (false)

#define CHECK_EQUAL(found, expected) \
    static_cast<void>(check::is_equal(found, expected, #found " == " #expected, __FILE__, __LINE__))

#define REQUIRE(claim)                                                        \
    do {                                                                      \
        if (!(claim)) {                                                       \
            check::fail(__FILE__, __LINE__, "cannot go on, not so: " #claim); \
            check::give_up();                                                 \
        }                                                                     \
    } while (false)
