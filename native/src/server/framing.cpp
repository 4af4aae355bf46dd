#include "server/framing.hpp"

#include <algorithm>

namespace ttmem::server {
namespace {

constexpr size_t kHeadsScored = 4;

bool has_zero_pads(const char* head) {
    return head[1] == 0 && head[2] == 0 && head[3] == 0 && head[17] == 0 && head[18] == 0 && head[19] == 0;
}

constexpr size_t kPadsEnd = 20;

bool could_be_head(const char* head) {
    const auto type = static_cast<uint8_t>(*head);
    return type >= 1 && type <= kTypeMost && has_zero_pads(head);
}

int32_t pid_in(const char* head) {
    int32_t pid = 0;
    std::memcpy(&pid, head + offsetof(Head, process_id), sizeof pid);
    return pid;
}

struct Score {
    size_t heads = 0;  // that were there to look at
    size_t pids = 0;   // of them, that name the peer or who the first one named
    bool fits = true;
};

Score score_of(const char* bytes, size_t size, size_t stride, int32_t peer_pid, size_t most = kHeadsScored) {
    Score score;
    const int32_t first_pid = pid_in(bytes);
    for (size_t at = 0; at + sizeof(Head) <= size && score.heads < most; at += stride) {
        ++score.heads;
        score.fits = score.fits && could_be_head(bytes + at);
        score.pids += pid_in(bytes + at) == peer_pid || pid_in(bytes + at) == first_pid;
    }
    return score;
}

}  // namespace

void Framing::learn(const char* bytes, size_t size, int32_t peer_pid) {
    if (state_ == State::scoring) return score(bytes, size, peer_pid);
    const size_t end = std::min(size, kStrideMost);
    if (end <= sizeof(Head)) return;
    const char* found = std::find_if(bytes + sizeof(Head), bytes + end, [](char byte) { return byte != 0; });
    const auto place = static_cast<size_t>(found - bytes);
    if (found == bytes + end) {
        if (end < kStrideMost) return;  // more may come
        stride_ = kStrideMost;
    } else if (is_stride(place) && size - place < kPadsEnd) {
        return;  // a little more of it decides, however the bytes were cut
    } else if (is_stride(place) && could_be_head(found)) {
        stride_ = place;
    } else {
        state_ = State::scoring;
        return score(bytes, size, peer_pid);
    }
    state_ = State::pinned;
}

// A size is out as soon as one of its heads is none. Of several that fit, the one whose heads name the peer most often is
// taken once four heads of each could be looked at; of equals the smallest (where 72 fits, 144 does too).
void Framing::score(const char* bytes, size_t size, int32_t peer_pid) {
    size_t fitting = 0, best = 0, best_pids = 0;
    bool is_whole = true;
    for (const size_t stride : kStrides) {
        const Score one = score_of(bytes, size, stride, peer_pid);
        if (!one.fits) continue;
        is_whole = is_whole && one.heads == kHeadsScored;
        if (++fitting == 1 || one.pids > best_pids) {
            best = stride;
            best_pids = one.pids;
        }
    }
    if (fitting == 0) {
        state_ = State::unreadable;
    } else if (is_whole) {
        state_ = State::pinned;
        stride_ = best;
    }
}

// Sizes have different numbers of heads here: what counts is which part of them names the peer.
bool Framing::settle(const char* bytes, size_t size, int32_t peer_pid) {
    if (state_ != State::scoring) return false;
    Score best;
    for (const size_t stride : kStrides) {
        if (size < 2 * stride || size % stride != 0) continue;
        const Score one = score_of(bytes, size, stride, peer_pid, size / stride);
        if (!one.fits || (best.heads != 0 && one.pids * best.heads <= best.pids * one.heads)) continue;
        best = one;
        stride_ = stride;
    }
    if (best.heads == 0) return false;
    state_ = State::pinned;
    return true;
}

}  // namespace ttmem::server
