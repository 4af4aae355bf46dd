// Where one message ends and the next begins, on a connection that never says so.
//
//        bytes                                       what is known
//   ┌─ unlearned ─┐  first non-zero byte behind the head stands at 72, 112 or 128 and could begin a message,
//   │             │  or there is none up to 144                                                   ──▶ pinned
//   │             │  it stands elsewhere: tails are not zero                                       ──▶ scoring
//   ├─ scoring ───┤  four heads of every size that fits could be looked at: pids, then the smallest ──▶ pinned
//   │             │  silence, and what came is whole messages of a size that fits                  ──▶ pinned
//   │             │  none fits                                                                   ──▶ unreadable
//   └─ pinned ────┘  a head that is none                                                         ──▶ unreadable
//
// The first message is handed out as soon as its head is there, whatever its size will turn out to be. A reply to it has to
// wait for the size; silence (the caller's clock) makes `size_by_silence` the answer, without pinning anything.
#pragma once

#include <cstring>

#include "server/message.hpp"

namespace ttmem::server {

class Framing {
public:
    enum class State : uint8_t { unlearned, scoring, pinned, unreadable };

    /// The most bytes that may be left over from one read to the next.
    static constexpr size_t kLeftMost = 4 * kStrideMost;

    /// Hands out every message whose head lies in `bytes` and was not handed out before, in order, as
    /// `visit(first, count, stride)`: `count` heads, each `stride` bytes behind the one before (0: not known yet, then
    /// `count` is 1). Returns how many bytes are done with; the rest must come again, followed by what is read next.
    template <typename Visit>
    size_t take(const char* bytes, size_t size, int32_t peer_pid, Visit visit) {
        if (state_ != State::pinned) {
            if (size >= sizeof(Head) && !has_first_) {
                if (!is_head(bytes)) state_ = State::unreadable;
                if (state_ == State::unreadable) return size;
                has_first_ = true;
                visit(bytes, size_t{1}, size_t{0});
            }
            learn(bytes, size, peer_pid);
            if (state_ == State::unreadable) return size;
            if (state_ != State::pinned) return 0;
        }
        return take_pinned(bytes, size, visit);
    }

    /// What a lone message must be, if `left` bytes were all there is to come; 0 if that is no message size.
    size_t size_by_silence(size_t left) const {
        return state_ != State::pinned && has_first_ && is_stride(left) ? left : 0;
    }

    /// Silence while sizes are scored: if the bytes are two or more whole messages of some size, that is the size. True
    /// once it is pinned; then take() hands out what is left.
    bool settle(const char* bytes, size_t size, int32_t peer_pid);

    State state() const { return state_; }
    size_t stride() const { return state_ == State::pinned ? stride_ : 0; }
    /// Whether the message at the start of what is left was handed out already.
    bool has_first() const { return has_first_; }

private:
    static bool is_head(const char* bytes) {
        const auto type = static_cast<uint8_t>(*bytes);
        return type >= 1 && type <= kTypeMost;
    }

    template <typename Visit>
    size_t take_pinned(const char* bytes, size_t size, Visit visit) {
        size_t at = has_first_ ? stride_ : 0;
        if (at > size) return 0;
        const size_t first = at;
        size_t count = 0;
        for (; at + sizeof(Head) <= size; at += stride_, ++count)
            if (!is_head(bytes + at)) {
                state_ = State::unreadable;
                break;
            }
        if (count != 0) visit(bytes + first, count, stride_);
        if (state_ == State::unreadable) return size;
        if (at > size) {  // the last one's head is there, its tail is not whole
            has_first_ = true;
            return at - stride_;
        }
        has_first_ = false;
        return at;
    }

    void learn(const char* bytes, size_t size, int32_t peer_pid);
    void score(const char* bytes, size_t size, int32_t peer_pid);

    State state_ = State::unlearned;
    bool has_first_ = false;  // the message at the start of the bytes was handed out
    size_t stride_ = 0;
};

}  // namespace ttmem::server
