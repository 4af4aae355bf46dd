#include "journal/environment.hpp"

#include <strings.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace ttmem {

const char* environment(const char* name) noexcept { return secure_getenv(name); }

bool is_off_word(const char* word) noexcept {
    for (const char* off : {"", "0", "off", "false", "no"})
        if (strcasecmp(word, off) == 0) return true;
    return false;
}

bool is_tracking_asked_for() noexcept {
    const char* word = environment("TTMEM");
    if (word != nullptr && *word != '\0') return !is_off_word(word);
    const char* other = environment("TT_ALLOC_TRACKING_ENABLED");
    return other != nullptr && std::strcmp(other, "1") == 0;
}

}  // namespace ttmem
