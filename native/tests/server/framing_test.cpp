// Finding messages in bytes that never say where one ends: however they are cut, the same messages come out.
#include "server/framing.hpp"

#include <algorithm>
#include <vector>

#include "support/check.hpp"
#include "support/server_messages.hpp"

namespace ttmem::server {
namespace {

constexpr int32_t kPeer = 4711;

/// A connection without a socket: bytes in, ids of messages out.
struct Listener {
    Framing framing;
    std::string left;
    std::vector<uint64_t> ids;
    std::vector<size_t> strides;

    void hear(const std::string& bytes) {
        left += bytes;
        const size_t done =
            framing.take(left.data(), left.size(), kPeer, [&](const char* first, size_t count, size_t stride) {
                for (size_t i = 0; i < count; ++i) {
                    Head head;
                    std::memcpy(&head, first + i * stride, sizeof head);
                    ids.push_back(head.buffer_id);
                    strides.push_back(stride);
                }
            });
        left.erase(0, done);
    }
};

std::string stream_of(size_t size, uint64_t count) {
    std::string bytes;
    for (uint64_t id = 1; id <= count; ++id) bytes += a_message(size, {MessageType::alloc, id, 64 * id});
    return bytes;
}

std::vector<uint64_t> up_to(uint64_t count) {
    std::vector<uint64_t> ids;
    for (uint64_t id = 1; id <= count; ++id) ids.push_back(id);
    return ids;
}

}  // namespace

TEST(a_burst_of_every_size_is_read_whole) {
    for (const size_t size : kStrides) {
        Listener listener;
        listener.hear(stream_of(size, 3000));
        CHECK(listener.ids == up_to(3000));
        CHECK_EQUAL(listener.framing.stride(), size);
        CHECK(listener.left.empty());
    }
}

TEST(byte_by_byte_the_same_messages_come_out) {
    for (const size_t size : kStrides) {
        Listener listener;
        for (const char byte : stream_of(size, 7)) listener.hear(std::string(1, byte));
        CHECK(listener.ids == up_to(7));
    }
}

TEST(any_two_cuts_change_nothing) {
    for (const size_t size : kStrides) {
        const std::string bytes = stream_of(size, 4);
        for (size_t one = 0; one <= bytes.size(); one += 3)
            for (size_t two = one; two <= bytes.size(); two += 7) {
                Listener listener;
                listener.hear(bytes.substr(0, one));
                listener.hear(bytes.substr(one, two - one));
                listener.hear(bytes.substr(two));
                if (listener.ids != up_to(4)) return check::fail(__FILE__, __LINE__, "cut at " + std::to_string(one));
            }
    }
}

TEST(a_message_is_heard_as_soon_as_its_head_is_there) {
    Listener listener;
    listener.hear(a_message(144, {MessageType::alloc, 9}).substr(0, 40));
    CHECK(listener.ids == std::vector<uint64_t>{9});
    CHECK_EQUAL(listener.strides[0], size_t{0});
}

TEST(silence_tells_the_size_of_a_lone_message_but_pins_nothing) {
    for (const size_t size : {72, 112, 128}) {
        Listener listener;
        listener.hear(a_message(size, {MessageType::query}));
        CHECK_EQUAL(listener.framing.size_by_silence(listener.left.size()), size);
        CHECK(listener.framing.state() == Framing::State::unlearned);
    }
    Listener listener;  // it was slow, not short
    listener.hear(a_message(144, {MessageType::query}).substr(0, 72));
    CHECK_EQUAL(listener.framing.size_by_silence(72), size_t{72});
    listener.hear(std::string(72, '\0') + a_message(144, {MessageType::alloc, 2}));
    CHECK_EQUAL(listener.framing.stride(), size_t{144});
    CHECK_EQUAL(listener.ids.size(), size_t{2});
}

TEST(bytes_that_are_no_message_size_are_not_answered) {
    Listener listener;
    listener.hear(a_message(144, {MessageType::query}).substr(0, 100));
    CHECK_EQUAL(listener.framing.size_by_silence(listener.left.size()), size_t{0});
}

TEST(tails_that_are_not_zero_are_scored_over_four_messages) {
    for (const size_t size : kStrides) {
        std::string bytes = stream_of(size, 8);
        for (size_t at = 0; at < bytes.size(); at += size) std::fill(&bytes[at + 41], &bytes[at] + size, '\x5a');
        Listener listener;
        for (size_t at = 0; at < bytes.size(); at += 11) listener.hear(bytes.substr(at, 11));
        CHECK(listener.ids == up_to(8));
        CHECK_EQUAL(listener.framing.stride(), size);
    }
}

TEST(what_begins_as_no_message_is_unreadable) {
    Listener listener;
    listener.hear(std::string(40, 'x'));
    CHECK(listener.framing.state() == Framing::State::unreadable);
    CHECK(listener.ids.empty());
}

TEST(what_turns_to_garbage_keeps_what_was_heard_before) {
    Listener listener;
    listener.hear(stream_of(144, 5));
    listener.hear(std::string(300, '\xff'));
    CHECK(listener.framing.state() == Framing::State::unreadable);
    CHECK(listener.ids == up_to(5));
}

TEST(less_than_a_head_is_never_a_message) {
    Listener listener;
    listener.hear(std::string(1, '\x02') + std::string(23, '\0'));
    CHECK(listener.ids.empty());
    CHECK(listener.framing.state() == Framing::State::unlearned);
}

TEST(silence_after_two_messages_with_full_tails_tells_their_size) {
    for (const size_t size : kStrides) {
        std::string bytes = stream_of(size, 2);
        for (size_t at = 0; at < bytes.size(); ++at)
            if (at % size >= sizeof(Head)) bytes[at] = static_cast<char>(0xa0 + at % 7);
        Listener listener;
        listener.hear(bytes);
        CHECK(!listener.framing.settle(listener.left.data(), listener.left.size() - 1, kPeer));
        CHECK(listener.framing.settle(listener.left.data(), listener.left.size(), kPeer));
        listener.hear("");
        CHECK(listener.ids == up_to(2));
        CHECK_EQUAL(listener.framing.stride(), size);
    }
}

}  // namespace ttmem::server
