#include "hook/fields.hpp"

#include <initializer_list>

namespace ttmem::hook {
namespace {

#if defined(__x86_64__)
constexpr bool kKnowsInstructions = true;
#else
constexpr bool kKnowsInstructions = false;  // getters are called
#endif
constexpr uint8_t kRax = 0, kRdi = 7;
constexpr uint32_t kOffsetMost = 4095;

// The instructions of a function, from its beginning: each question moves on if it is answered with yes. What follows the
// first no is never looked at, so nobody reads beyond the end of a function.
class Code {
public:
    explicit Code(const void* function) noexcept
        : next_(static_cast<const uint8_t*>(function)), is_sound_(function != nullptr) {
        constexpr uint8_t kMark[] = {0xf3, 0x0f, 0x1e, 0xfa};  // endbr64: some compilers begin every function with it
        uint32_t same = 0;
        while (is_sound_ && same < sizeof kMark && next_[same] == kMark[same]) ++same;
        if (same == sizeof kMark) next_ += sizeof kMark;
    }

    Code& has(std::initializer_list<uint8_t> bytes) noexcept {
        for (const uint8_t byte : bytes) is_sound_ = is_sound_ && *next_++ == byte;
        return *this;
    }

    /// mov offset(%from), %to of 8 bytes, or of 4.
    Code& loads(uint8_t from, uint8_t to, bool is_wide, uint16_t& offset) noexcept {
        if (is_wide) has({0x48});
        has({0x8b});
        return names(from, to, offset);
    }

    /// cmpb $0, offset(%rax).
    Code& compares_byte(uint16_t& offset) noexcept {
        has({0x80});
        names(kRax, 7, offset);
        return has({0x00});
    }

    Code& skips_byte() noexcept {
        if (is_sound_) ++next_;
        return *this;
    }

    bool is_sound() const noexcept { return is_sound_; }

private:
    // The byte that names registers, and the offset behind it.
    Code& names(uint8_t from, uint8_t to, uint16_t& offset) noexcept {
        if (!is_sound_) return *this;
        const uint8_t byte = *next_++;
        int32_t found = 0;
        is_sound_ = (byte & 0x3f) == (to << 3 | from) && byte >> 6 != 3;
        if (!is_sound_) return *this;
        if (byte >> 6 == 1) {
            found = static_cast<int8_t>(*next_++);
        } else if (byte >> 6 == 2) {
            std::memcpy(&found, next_, sizeof found);
            next_ += sizeof found;
        }
        is_sound_ = found >= 0 && static_cast<uint32_t>(found) <= kOffsetMost;
        offset = static_cast<uint16_t>(found);
        return *this;
    }

    const uint8_t* next_;
    bool is_sound_;
};

bool reads_field(const void* getter, bool is_wide, uint16_t& hidden, uint16_t& offset) noexcept {
    return Code(getter).loads(kRdi, kRax, true, hidden).loads(kRax, kRax, is_wide, offset).has({0xc3}).is_sound();
}

// It complains of a buffer that has no address: a branch away from the last two instructions.
bool reads_address(const void* getter, uint16_t& hidden, BufferFields& fields) noexcept {
    return Code(getter)
        .loads(kRdi, kRax, true, hidden)
        .compares_byte(fields.has_address)
        .has({0x74})
        .skips_byte()
        .loads(kRax, kRax, false, fields.address)
        .has({0xc3})
        .is_sound();
}

// It calls for a view of the one it loads.
bool reads_allocator(const void* getter, uint16_t& hidden, BufferFields& fields) noexcept {
    return Code(getter)
        .has({0x50})
        .loads(kRdi, kRax, true, hidden)
        .loads(kRax, kRdi, true, fields.allocator)
        .has({0xe8})
        .is_sound();
}

}  // namespace

void read_getters(const BufferGetters& getters, BufferFields& fields) noexcept {
    fields.state.store(FieldsState::none, std::memory_order_release);
    if constexpr (!kKnowsInstructions) return;
    uint16_t hidden[8] = {};
    bool are_known = reads_field(getters.id, true, hidden[0], fields.id) &&
                     reads_field(getters.size, true, hidden[1], fields.size) &&
                     reads_field(getters.page_size, true, hidden[2], fields.page_size) &&
                     reads_field(getters.device, true, hidden[3], fields.device) &&
                     reads_field(getters.type, false, hidden[4], fields.type) &&
                     reads_field(getters.layout, false, hidden[5], fields.layout) &&
                     reads_address(getters.address, hidden[6], fields) &&
                     reads_allocator(getters.allocator, hidden[7], fields);
    for (const uint16_t one : hidden) are_known = are_known && one == hidden[0];
    fields.hidden = hidden[0];
    if (are_known) fields.state.store(FieldsState::read, std::memory_order_release);
}

}  // namespace ttmem::hook
