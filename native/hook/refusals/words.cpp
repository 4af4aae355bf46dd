#include "hook/refusals/words.hpp"

#include <initializer_list>

namespace ttmem::hook {
namespace {

// Goes through a text: each question moves on if it is answered with yes; after the first no nothing is read any more.
class Sentence {
public:
    Sentence(std::string_view text, std::string_view beginning) noexcept : rest_(text) {
        const size_t place = text.find(beginning);
        is_sound_ = place != std::string_view::npos;
        if (is_sound_) rest_.remove_prefix(place + beginning.size());
    }

    Sentence& says(std::string_view words) noexcept {
        is_sound_ = is_sound_ && rest_.starts_with(words);
        if (is_sound_) rest_.remove_prefix(words.size());
        return *this;
    }

    Sentence& says_either(std::string_view words, std::string_view others) noexcept {
        return rest_.starts_with(words) ? says(words) : says(others);
    }

    Sentence& tells(uint64_t& number) noexcept {
        uint64_t value = 0;
        size_t digits = 0;
        while (digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9') {
            is_sound_ = is_sound_ && !__builtin_mul_overflow(value, uint64_t{10}, &value) &&
                        !__builtin_add_overflow(value, static_cast<uint64_t>(rest_[digits] - '0'), &value);
            ++digits;
        }
        is_sound_ = is_sound_ && digits != 0;
        rest_.remove_prefix(digits);
        number = value;
        return *this;
    }

    /// One of the runtime's names of memories; any other is skipped.
    Sentence& tells_type(uint8_t& type) noexcept {
        constexpr std::string_view kTypes[] = {"DRAM", "L1", "SYSTEM_MEMORY", "L1_SMALL", "TRACE"};
        size_t length = 0;
        while (length < rest_.size() && rest_[length] != ' ') ++length;
        const std::string_view name(rest_.data(), length);
        for (uint8_t i = 0; i < sizeof kTypes / sizeof *kTypes; ++i)
            if (name == kTypes[i]) type = i;
        rest_.remove_prefix(length);
        return *this;
    }

    /// "[0-0 - 7-7]".
    Sentence& tells(CoreRange& cores) noexcept {
        says("[").tells(cores.first_x).says("-").tells(cores.first_y).says(" - ").tells(cores.last_x).says("-");
        tells(cores.last_y).says("]");
        is_sound_ = is_sound_ && cores.first_x <= cores.last_x && cores.first_y <= cores.last_y;
        return *this;
    }

    bool is_sound() const noexcept { return is_sound_; }

private:
    std::string_view rest_;
    bool is_sound_;
};

bool reads_banks(Sentence& sentence, RefusedWords& words) noexcept {
    uint64_t allocated = 0;
    return sentence.says("bank size is ")
        .tells(words.bank_bytes)
        .says(" B (allocated: ")
        .tells(allocated)
        .says(" B, free: ")
        .tells(words.free_bytes)
        .says(" B, largest free block: ")
        .tells(words.largest_bytes)
        .says(" B)")
        .is_sound();
}

// In lockstep, all banks at one address.
bool reads_lockstep(std::string_view text, RefusedWords& words) noexcept {
    uint64_t banks = 0;
    Sentence sentence(text, "Out of Memory: Not enough space to allocate ");
    sentence.tells(words.requested_bytes).says(" B ").tells_type(words.type).says(" buffer across ").tells(banks);
    sentence.says(" banks, where each bank needs to store ").tells(words.per_bank_bytes).says(" B, but ");
    words.bank_count = static_cast<uint32_t>(banks);
    return reads_banks(sentence, words);
}

// Beside memory that single cores hold (the allocator's mode HYBRID).
bool reads_dependent(std::string_view text, RefusedWords& words) noexcept {
    uint64_t banks = 0;
    Sentence sentence(text, "Out of Memory: Not enough space after considering dependencies to allocate ");
    sentence.tells(words.requested_bytes).says(" B ").tells_type(words.type).says(" across ").tells(banks);
    sentence.says(" banks (").tells(words.per_bank_bytes).says(" B per bank), ");
    words.bank_count = static_cast<uint32_t>(banks);
    return reads_banks(sentence, words);
}

bool reads_clash_with_buffers(std::string_view text, ClashWords& words) noexcept {
    return Sentence(text, "Statically allocated ")
        .says_either("circular", "dataflow")
        .says(" buffers in program ")
        .tells(words.program)
        .says(" clash with L1 buffers on core range ")
        .tells(words.cores)
        .says(". L1 buffer allocated at ")
        .tells(words.buffer_address)
        .says(" and static ")
        .says_either("circular", "dataflow")
        .says(" buffer region ends at ")
        .tells(words.region_end)
        .is_sound();
}

bool reads_too_large(std::string_view text, ClashWords& words) noexcept {
    return Sentence(text, "Statically allocated ")
        .says_either("circular", "dataflow")
        .says(" buffers on core range ")
        .tells(words.cores)
        .says(" grow to ")
        .tells(words.region_end)
        .says(" B which is beyond max L1 size of ")
        .tells(words.l1_end)
        .is_sound();
}

bool reads_clash_with_service(std::string_view text, ClashWords& words) noexcept {
    return Sentence(text, "Circular buffers on service-core range ")
        .tells(words.cores)
        .says(" in program ")
        .tells(words.program)
        .says(" clash with ServiceCoreManager-allocated L1 (lowest service allocation at ")
        .tells(words.buffer_address)
        .says(", CB region ends at ")
        .tells(words.region_end)
        .is_sound();
}

// What was half read is not kept.
template <class RecordCopy>
bool reads_any(std::string_view text, RecordCopy& words,
               std::initializer_list<bool (*)(std::string_view, RecordCopy&) noexcept> ways) noexcept {
    for (const auto reads : ways) {
        RecordCopy found;
        if (!reads(text, found)) continue;
        words = found;
        return true;
    }
    return false;
}

}  // namespace

bool read_refused(std::string_view text, RefusedWords& words) noexcept {
    return reads_any(text, words, {reads_lockstep, reads_dependent});
}

bool read_clash(std::string_view text, ClashWords& words) noexcept {
    return reads_any(text, words, {reads_clash_with_buffers, reads_too_large, reads_clash_with_service});
}

}  // namespace ttmem::hook
