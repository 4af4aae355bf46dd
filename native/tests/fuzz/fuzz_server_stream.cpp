// Fuzzes everything that hears a connection of the allocation server's socket: any bytes, cut anywhere. However they are cut the same
// messages must come out; whatever they say, no figure may go wrong, and those of another process may not change at all.
//
//   cuts (1) | cut lengths (cuts bytes) | the stream
//
// With 'C' as first byte the rest is taken as a checkpoint instead.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "ledger/checkpoint.hpp"
#include "server/framing.hpp"
#include "server/message_rules.hpp"
#include "server/replies.hpp"

namespace {

using namespace ttmem;
using namespace ttmem::server;

constexpr int32_t kPeer = 4711;
constexpr int64_t kHonestBytes = 12'345;

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "fuzz_server_stream: %s\n", what);
    std::abort();
}

/// What one connection made of its bytes, and what that did to the books.
struct Heard {
    Collector collector{false};
    MessageRules rules{collector};
    Process& honest = collector.admit(Way::socket);
    Process& peer = collector.admit(Way::socket);
    Framing framing;
    std::string left, heads;

    Heard() {
        collector.log().turn_on(64);
        Head head{};
        head.type = 1;
        head.size = static_cast<uint64_t>(kHonestBytes);
        head.buffer_id = 1;
        rules.apply(honest, reinterpret_cast<const char*>(&head), 1, sizeof head, 1);
    }

    void hear(const char* bytes, size_t size) {
        if (framing.state() == Framing::State::unreadable) return;
        left.append(bytes, size);
        const size_t done =
            framing.take(left.data(), left.size(), kPeer, [&](const char* first, size_t count, size_t stride) {
                for (size_t i = 0; i < count; ++i) take(first + i * stride);
            });
        if (done > left.size()) fail("more was taken than was there");
        left.erase(0, done);
        if (framing.state() != Framing::State::unreadable && left.size() > Framing::kLeftMost)
            fail("too much is left over");
    }

    void take(const char* at) {
        Head head;
        std::memcpy(&head, at, sizeof head);
        heads.append(at, sizeof head);
        if (rules.apply(peer, at, 1, sizeof head, 1) == 0)
            for (const size_t size : kStrides) reply_to(head, size, collector.devices(), 1);
    }

    void check() {
        if (honest.book.targets()[1].totals.pools[TTMEM_DRAM].used != kHonestBytes)
            fail("another process's figures moved");
        for (const Device& device : collector.devices().all())
            for (const PeakAmount& pool : device.cell.pools)
                if (pool.used < 0 || pool.count < 0 || pool.peak < pool.used) fail("a figure is below zero");
        collector.log().take(~size_t{0} >> 1);
        collector.dismiss(peer);
        collector.dismiss(honest);
        for (const Device& device : collector.devices().all())
            for (const PeakAmount& pool : device.cell.pools)
                if (pool.used != 0 || pool.count != 0) fail("the dead hold something");
    }
};

void hear_stream(const uint8_t* data, size_t size) {
    const size_t cuts = data[0] < size ? data[0] : size - 1;
    const char* stream = reinterpret_cast<const char*>(data) + 1 + cuts;
    const size_t length = size - 1 - cuts;
    Heard whole, pieces;
    whole.hear(stream, length);
    size_t at = 0;
    for (size_t i = 0; i < cuts && at < length; ++i) {
        const size_t piece = std::min<size_t>(data[1 + i], length - at);
        pieces.hear(stream + at, piece);
        at += piece;
    }
    pieces.hear(stream + at, length - at);
    if (whole.heads != pieces.heads) fail("cut otherwise, other messages come out");
    whole.check();
    pieces.check();
}

void hear_checkpoint(const char* bytes, size_t size) {
    Collector collector{false};
    Checkpoint checkpoint{collector};
    std::string error;
    checkpoint.restore(std::string(bytes, size), error);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    if (data[0] == 'C')
        hear_checkpoint(reinterpret_cast<const char*>(data) + 1, size - 1);
    else
        hear_stream(data, size);
    return 0;
}
