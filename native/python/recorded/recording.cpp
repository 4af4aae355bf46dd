#include "python/recorded/recording.hpp"

#include <fcntl.h>
#include <nanobind/stl/string.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "python/books.hpp"
#include "python/buffers.hpp"
#include "python/recorded/watched.hpp"
#include "recording/block.hpp"
#include "recording/recorder.hpp"
#include "recording/replay.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

using namespace recording;

nb::bytes bytes_of(const std::string& text) { return nb::bytes(text.data(), text.size()); }

// ---- writing

/// Stops listening without the interpreter lock: it waits for the holder of the books.
struct HeldRecorder {
    explicit HeldRecorder(std::unique_ptr<Recorder> made) : recorder(std::move(made)) {}
    ~HeldRecorder() {
        const Released released;
        recorder.reset();
    }
    std::unique_ptr<Recorder> recorder;
};

void make_recorder(HeldRecorder* self, Books& ledger, bool is_redacted) {
    ledger.without_python([&](Collector& collector) {
        return new (self) HeldRecorder(std::make_unique<Recorder>(collector, is_redacted));
    });
}

void begin_segment(HeldRecorder& recorder, Books& ledger, int file, uint64_t number) {
    const int own = fcntl(file, F_DUPFD_CLOEXEC, 0);
    if (own < 0) throw std::runtime_error("descriptor " + std::to_string(file) + ": " + strerror(errno));
    ledger.without_python([&](Collector& collector) {
        const auto held = collector.hold();
        recorder.recorder->begin_segment(own, number);
    });
}

nb::tuple flush(HeldRecorder& recorder, Books& ledger) {
    const Recorder::Status status = ledger.without_python([&](Collector& collector) {
        const auto held = collector.hold();
        recorder.recorder->flush();
        return recorder.recorder->status();
    });
    return nb::make_tuple(status.segment_bytes, status.rows, status.dropped_rows, status.lost_records, status.incidents,
                          status.error);
}

// ---- reading

nb::tuple balance_rows(const std::vector<Balance>& balances) {
    nb::list rows;
    for (const Balance& one : balances)
        rows.append(nb::make_tuple(one.chip, (one.flags & kHasChip) != 0, one.pool, one.start, one.highest,
                                   (one.flags & kIsOfGap) != 0, (one.flags & kIsBound) != 0));
    return nb::tuple(rows);
}

/// A file of blocks, read one at a time: it may be much larger than memory.
class BlockFile {
public:
    explicit BlockFile(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        if (file_ < 0) throw std::system_error(errno, std::generic_category());
    }
    ~BlockFile() { close(file_); }
    BlockFile(const BlockFile&) = delete;
    BlockFile& operator=(const BlockFile&) = delete;

    /// The block at an offset, as long as the next is not asked for; nothing at the end, or with what is wrong there.
    std::optional<StoredBlock> at(uint64_t offset, std::string& error) {
        bytes_.resize(sizeof(BlockHead));
        bytes_.resize(read_at(offset));
        if (bytes_.empty()) return std::nullopt;
        const auto head = head_of(bytes_, error);
        if (!head) return std::nullopt;
        bytes_.resize(block_size(*head));
        bytes_.resize(read_at(offset));
        return block_of(bytes_, error);
    }

private:
    size_t read_at(uint64_t offset) {
        size_t done = 0;
        while (done < bytes_.size()) {
            const ssize_t got =
                pread(file_, bytes_.data() + done, bytes_.size() - done, static_cast<off_t>(offset + done));
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) break;
            done += static_cast<size_t>(got);
        }
        return done;
    }

    int file_;
    std::string bytes_;
};

// Every block up to the first that is not as it was written, and what is wrong with that one.
nb::tuple scan(const std::string& path) {
    struct Found {
        uint64_t at, size;
        BlockHead head;
        std::vector<Balance> balances;
    };
    std::vector<Found> found;
    std::string error;
    {
        const Released released;
        try {
            BlockFile file(path);
            uint64_t at = 0;
            while (const auto block = file.at(at, error)) {
                found.push_back({at, block_size(block->head), block->head, block->balances});
                at += block_size(block->head);
            }
        } catch (const std::system_error& trouble) {
            error = trouble.code().message();
        }
    }
    nb::list rows;
    for (const Found& one : found) {
        const BlockHead& head = one.head;
        rows.append(nb::make_tuple(one.at, one.size, static_cast<int>(head.kind), head.parts,
                                   static_cast<int>(head.codec), head.row_count, head.first_ns, head.last_ns,
                                   head.wall_offset_ns, head.lost_records, head.segment, head.number,
                                   balance_rows(one.balances)));
    }
    return nb::make_tuple(rows, error);
}

StoredBlock checked(std::string_view bytes) {
    std::string error;
    const auto block = block_of(bytes, error);
    if (!block) throw std::invalid_argument(error);
    return *block;
}

nb::bytes payload(nb::handle buffer) {
    const View view(buffer);
    const StoredBlock block = checked(view.bytes());
    return nb::bytes(block.payload.data(), block.payload.size());
}

// The same block with its payload stored otherwise.
nb::bytes restored(nb::handle buffer, nb::bytes stored, bool is_packed) {
    const View view(buffer);
    const StoredBlock block = checked(view.bytes());
    BlockHead head = block.head;
    head.codec = is_packed ? Codec::zlib : Codec::plain;
    return bytes_of(block_bytes(head, block.balances, {stored.c_str(), stored.size()}));
}

StoredBlock plain(std::string_view bytes) {
    const StoredBlock block = checked(bytes);
    if (block.head.codec != Codec::plain)
        throw std::invalid_argument("a block that is packed is not read: unpack it first");
    return block;
}

void make_replay(Replay* self, Books& ledger) {
    ledger.without_python([&](Collector& collector) { return new (self) Replay(collector); });
}

void read_names_block(Replay& replay, nb::handle buffer) {
    const View view(buffer);
    std::string error;
    if (!replay.read_names_of(plain(view.bytes()), error)) throw std::invalid_argument(error);
}

void take_block(Replay& replay, Books& ledger, nb::handle buffer) {
    const View view(buffer);
    const StoredBlock block = plain(view.bytes());
    std::string error;
    if (!ledger.without_python([&](Collector&) { return replay.take(block, error); }))
        throw std::invalid_argument(error);
}

bool play_taken(Replay& replay, Books& ledger, uint64_t horizon_ns, uint64_t until_ns, uint64_t chip, uint32_t pool,
                int64_t bytes, uint64_t rows) {
    const Until until{until_ns, chip, pool, bytes, rows};
    return ledger.without_python([&](Collector&) { return replay.play(until, horizon_ns); });
}

nb::list phase_moment_rows(const Replay& replay, nb::handle buffer) {
    const View view(buffer);
    std::vector<PhaseMoment> found;
    std::string error;
    if (!replay.phase_moments(plain(view.bytes()), found, error)) throw std::invalid_argument(error);
    nb::list rows;
    for (const PhaseMoment& one : found)
        rows.append(nb::make_tuple(one.time_ns, one.is_begin, one.pid, nb::str(one.name.data(), one.name.size())));
    return rows;
}

nb::dict phase_rows(const Replay& replay) {
    nb::dict all;
    for (const auto& [key, phases] : replay.phases()) {
        nb::list rows;
        for (const RecordedPhase& one : phases)
            rows.append(
                nb::make_tuple(nb::str(one.name.data(), one.name.size()), one.began_ns, one.ended_ns, one.thread));
        all[nb::int_(key)] = rows;
    }
    return all;
}

nb::list gap_peak_rows(const Replay& replay) {
    nb::list rows;
    for (const GapPeak& one : replay.gap_peaks()) {
        nb::list chips;
        for (const uint64_t chip : one.chips) chips.append(chip);
        rows.append(nb::make_tuple(one.process, nb::tuple(chips), one.pool, one.bytes, one.time_ns));
    }
    return rows;
}

nb::list lost_rows(const Replay& replay) {
    nb::list keys;
    for (const uint64_t key : replay.lost_processes()) keys.append(key);
    return keys;
}

}  // namespace

void add_recording(nb::module_& module) {
    nb::module_ recording = module.def_submodule("recording", "What happens in a ledger, into files and back.");
    nb::class_<HeldRecorder>(recording, "Recorder")
        .def("__init__", make_recorder, nb::arg("ledger"), nb::arg("redact") = false, nb::keep_alive<1, 2>())
        .def("begin_segment", begin_segment, nb::arg("ledger"), nb::arg("file"), nb::arg("number"))
        .def("flush", flush, nb::arg("ledger"));
    nb::class_<Replay>(recording, "Replay")
        .def("__init__", make_replay, nb::arg("ledger"), nb::keep_alive<1, 2>())
        .def("read_names", read_names_block, nb::arg("block"))
        .def("take", take_block, nb::arg("ledger"), nb::arg("block"))
        .def("play", play_taken, nb::arg("ledger"), nb::arg("horizon_ns") = ~uint64_t{0},
             nb::arg("until_ns") = ~uint64_t{0}, nb::arg("chip") = 0, nb::arg("pool") = kPools, nb::arg("bytes") = 0,
             nb::arg("rows") = ~uint64_t{0})
        .def("watch", watch, nb::arg("ledger"), nb::arg("measure") = false, nb::arg("core") = -1)
        .def("watched", watched, nb::arg("ledger"))
        .def("phase_moments", phase_moment_rows, nb::arg("block"))
        .def("phases", phase_rows)
        .def("gap_peaks", gap_peak_rows)
        .def("lost", lost_rows)
        .def("time_ns", &Replay::time_ns)
        .def("wall_offset_ns", &Replay::wall_offset_ns)
        .def("row_count", &Replay::row_count);
    recording.def("on_core", on_core, nb::arg("ledger"), nb::arg("device"), nb::arg("core"));
    add_lives(recording);
    recording.def("scan", scan, nb::arg("path"));
    recording.def("payload", payload, nb::arg("block"));
    recording.def("restored", restored, nb::arg("block"), nb::arg("stored"), nb::arg("is_packed"));
}

}  // namespace ttmem
