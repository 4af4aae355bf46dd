// Which words turn tracking on.
#include "journal/environment.hpp"

#include <cstdlib>

#include "support/check.hpp"
#include "ttmem/client.h"

namespace ttmem {

TEST(words_that_mean_off_are_off_in_any_case) {
    for (const char* word : {"", "0", "off", "OFF", "Off", "false", "False", "FALSE", "no", "No", "NO"}) {
        setenv("TTMEM", word, 1);
        if (is_tracking_asked_for()) check::fail(__FILE__, __LINE__, std::string("on: ") + word);
    }
}

TEST(every_other_word_is_on) {
    for (const char* word : {"1", "2", "on", "true", "yes", "offline", "00", " "}) {
        setenv("TTMEM", word, 1);
        if (!is_tracking_asked_for()) check::fail(__FILE__, __LINE__, std::string("off: ") + word);
    }
}

TEST(the_allocation_servers_switch_is_on_for_one_alone) {
    for (const char* word : {"", "0", "off", "true", "yes", "11"}) {
        setenv("TT_ALLOC_TRACKING_ENABLED", word, 1);
        if (is_tracking_asked_for()) check::fail(__FILE__, __LINE__, std::string("on: ") + word);
    }
    setenv("TT_ALLOC_TRACKING_ENABLED", "1", 1);
    CHECK(is_tracking_asked_for());
}

TEST(a_word_of_ours_goes_before_the_allocation_servers_switch) {
    setenv("TT_ALLOC_TRACKING_ENABLED", "1", 1);
    setenv("TTMEM", "", 1);
    CHECK(is_tracking_asked_for());
    setenv("TTMEM", "off", 1);
    CHECK(!is_tracking_asked_for());
    ttmem_launch(0, 1);
    CHECK_EQUAL(ttmem_tracking, 0);
}

}  // namespace ttmem
