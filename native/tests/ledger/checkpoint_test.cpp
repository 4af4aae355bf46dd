// What a checkpoint brings back, and that no bytes whatever can do harm.
#include "ledger/checkpoint.hpp"

#include <unistd.h>

#include "journal/identity.hpp"
#include "server/message_rules.hpp"
#include "support/check.hpp"
#include "support/server_messages.hpp"

namespace ttmem {
namespace {

using server::MessageType;

struct Room {
    Collector collector{false};
    Checkpoint checkpoint{collector};
    server::MessageRules rules{collector};

    Process& admit(pid_t pid) {
        Process& process = collector.admit(Way::socket);
        process.pid = static_cast<uint32_t>(pid);
        process.start_ticks = start_ticks_of(pid);
        return process;
    }
    void hear(Process& process, const server::Told& told) {
        const std::string bytes = server::a_message(144, told);
        rules.apply(process, bytes.data(), 1, 144, 1);
    }
    int64_t used(int32_t id) {
        const Device* device = collector.devices().find_server_id(id);
        return device == nullptr ? -1 : device->cell.pools[TTMEM_DRAM].used;
    }
    std::string error;
};

std::string a_checkpoint(int entries) {
    Room room;
    Process& process = room.admit(getpid());
    for (int i = 0; i < entries; ++i) room.hear(process, {MessageType::alloc, static_cast<uint64_t>(i), 100, i % 3});
    room.hear(process, {MessageType::kernel_load, 1, 5, 0, 2});
    return room.checkpoint.take();
}

}  // namespace

TEST(a_living_process_comes_back_with_all_it_held) {
    Room room;
    CHECK_EQUAL(room.checkpoint.restore(a_checkpoint(30), room.error), 1u);
    CHECK_EQUAL(room.error, std::string());
    CHECK_EQUAL(room.used(0), 1000);
    CHECK_EQUAL(room.used(2), 1000);
    Process& process = *room.collector.processes()[0];
    CHECK(process.is_restored);
    room.hear(process, {MessageType::kernel_unload, 1});
    room.hear(process, {MessageType::free, 0});
    room.hear(process, {MessageType::free, 777});  // may have been allocated while no process listened
    CHECK_EQUAL(room.used(0), 900);
    CHECK_EQUAL(process.hot.unmatched_frees, 0u);
    room.hear(process, {MessageType::alloc, 3, 100});  // its free may have been lost: no second holder
    room.hear(process, {MessageType::free, 3});
    CHECK_EQUAL(room.used(0), 800);
    CHECK(process.book.findings().empty());
}

TEST(a_process_that_is_gone_stays_gone) {
    Room before;
    Process& process = before.admit(getpid());
    process.start_ticks += 1;
    before.hear(process, {MessageType::alloc, 1, 100});
    Room room;
    CHECK_EQUAL(room.checkpoint.restore(before.checkpoint.take(), room.error), 0u);
    CHECK_EQUAL(room.error, std::string());
    CHECK(room.collector.processes().empty());
}

TEST(nothing_new_is_nothing_to_write) {
    Room room;
    Process& process = room.admit(getpid());
    room.hear(process, {MessageType::alloc, 1, 100});
    CHECK(!room.checkpoint.take().empty());
    CHECK(room.checkpoint.take().empty());
    room.hear(process, {MessageType::free, 1});
    CHECK(!room.checkpoint.take().empty());
    room.collector.dismiss(process);
    CHECK(!room.checkpoint.take().empty());  // or the dead would be brought back
}

TEST(damage_is_told_and_nothing_is_taken) {
    const std::string sound = a_checkpoint(5);
    for (size_t length = 0; length < sound.size(); length += 13) {
        Room room;
        CHECK_EQUAL(room.checkpoint.restore(sound.substr(0, length), room.error), 0u);
        CHECK(!room.error.empty());
    }
    for (size_t at = 0; at < sound.size(); ++at) {  // the head's bytes as well
        std::string bent = sound;
        bent[at] = static_cast<char>(bent[at] ^ 0x41);
        Room room;
        CHECK_EQUAL(room.checkpoint.restore(bent, room.error), 0u);
        CHECK(!room.error.empty());
        CHECK(room.collector.processes().empty());
    }
}

}  // namespace ttmem
