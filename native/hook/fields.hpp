// What the getters of a buffer read, as their own instructions say.
//
// A getter of the runtime is mostly two loads: from the buffer to what it hides, and from there the field.
//
//     mov 0x10(%rdi), %rax      mov 0x8(%rax), %rax      ret
//
// Calling eight of them for each buffer costs the host far more than these loads, for their code is spread over its
// library. So they are read once, when a runtime is found; if each of them is made of such loads and nothing else, reports
// load the fields themselves. Any other instruction, and the getters are called. Nothing here is known before, and nothing
// is loaded before a buffer was asked both ways; should an answer ever differ, the getters are right, for good.
//
//   word      writer                                                        readers               order
//   offsets   who finds the runtime, before any other thread sees it        any                   by the caller's end
//   state     the same; confirmed or refused by who compared both answers   any, before a load    release / acquire
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

namespace ttmem::hook {

enum class FieldsState : uint8_t { none, read, confirmed };

/// Offsets of fields in what a buffer hides.
struct BufferFields {
    std::atomic<FieldsState> state;
    uint16_t hidden;  // in the buffer: a pointer to all others
    uint16_t id, size, page_size, device, type, layout;
    uint16_t has_address, address;  // a byte that is not 0 if there is one
    uint16_t allocator;             // the runtime's own, of which the one that it tells is a view

    /// Whether everything that `others` say, if they say anything, is said here, too.
    bool confirm(const BufferFields& others) const noexcept {
        if (others.state.load(std::memory_order_acquire) == FieldsState::none) return true;
        return state.load(std::memory_order_acquire) != FieldsState::none && hidden == others.hidden &&
               id == others.id && size == others.size && page_size == others.page_size && device == others.device &&
               type == others.type && layout == others.layout && has_address == others.has_address &&
               address == others.address && allocator == others.allocator;
    }
    bool are_sure() const noexcept {
        return __builtin_expect(state.load(std::memory_order_acquire) == FieldsState::confirmed, 1);
    }
};

/// A buffer looked into.
class BufferLook {
public:
    [[gnu::always_inline]] BufferLook(const BufferFields& fields, const void* buffer) noexcept
        : fields_(fields), hidden_(at<const char*>(static_cast<const char*>(buffer), fields.hidden)) {}

    uint64_t id() const noexcept { return at<uint64_t>(hidden_, fields_.id); }
    uint64_t size() const noexcept { return at<uint64_t>(hidden_, fields_.size); }
    uint64_t page_size() const noexcept { return at<uint64_t>(hidden_, fields_.page_size); }
    const void* device() const noexcept { return at<const void*>(hidden_, fields_.device); }
    uint8_t type() const noexcept { return static_cast<uint8_t>(at<uint32_t>(hidden_, fields_.type)); }
    uint8_t layout() const noexcept { return static_cast<uint8_t>(at<uint32_t>(hidden_, fields_.layout)); }
    const void* allocator() const noexcept { return at<const void*>(hidden_, fields_.allocator); }
    /// 0: it has none.
    uint32_t address() const noexcept {
        return at<uint8_t>(hidden_, fields_.has_address) == 0 ? 0 : at<uint32_t>(hidden_, fields_.address);
    }

private:
    template <class T>
    [[gnu::always_inline]] static T at(const char* place, uint32_t offset) noexcept {
        T value;
        std::memcpy(&value, place + offset, sizeof value);
        return value;
    }

    const BufferFields& fields_;
    const char* hidden_;
};

/// The code of the getters.
struct BufferGetters {
    const void *id, *size, *page_size, *device, *type, *layout, *address, *allocator;
};

/// Sets `fields`; none are read if one of the getters is not there or does anything else than to load.
void read_getters(const BufferGetters& getters, BufferFields& fields) noexcept;

}  // namespace ttmem::hook
