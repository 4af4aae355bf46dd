#include "writer/incidents.hpp"

#include <time.h>

#include <algorithm>
#include <cstring>

#include "writer/incident_copy.hpp"
#include "writer/operations.hpp"
#include "writer/steps.hpp"

namespace ttmem {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

// The newest incident of the calling thread. A signal handler of the same thread may come in between: `number` is taken away
// before and given after everything else.
struct Newest {
    uint64_t number = 0, time_ns = 0, requested = 0, cb_end = 0, trace = 0, address = 0;
    uint32_t generation = 0, site = 0;
    uint16_t target = 0;
    uint8_t kind = 0, pool = 0;
};
thread_local __attribute__((tls_model("initial-exec"))) Newest newest;

uint64_t known(uint64_t figure) noexcept { return figure == kUnknownFigure ? 0 : figure; }

Incident* slot_at(const Writer& writer, uint32_t slot) noexcept {
    const uint64_t offset = writer.header->identity.incidents_offset;
    return reinterpret_cast<Incident*>(reinterpret_cast<char*>(writer.header) + offset) + slot;
}

bool is_again(const Writer& writer, const ttmem_incident& incident, uint64_t now_ns) noexcept {
    return newest.number != 0 && newest.generation == writer.generation && newest.site == incident.site &&
           newest.kind == incident.kind && newest.pool == incident.pool && newest.target == incident.target &&
           newest.requested == incident.requested_bytes && newest.cb_end == incident.cb_end_address &&
           newest.trace == incident.trace && newest.address == incident.address && now_ns - newest.time_ns < kSecond;
}

void remember(const Writer& writer, const ttmem_incident& incident, uint64_t number, uint64_t now_ns) noexcept {
    newest.number = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    newest.time_ns = now_ns;
    newest.requested = incident.requested_bytes;
    newest.cb_end = incident.cb_end_address;
    newest.trace = incident.trace;
    newest.address = incident.address;
    newest.generation = writer.generation;
    newest.site = incident.site;
    newest.target = incident.target;
    newest.kind = incident.kind;
    newest.pool = incident.pool;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    newest.number = number;
}

// Only while its slot is still its own.
bool count_again(const Writer& writer, uint64_t number) noexcept {
    Incident& slot = *slot_at(writer, slot_of(number));
    if (slot.commit.load(std::memory_order_acquire) != committed(number)) return false;
    slot.last_time.store(raw_now(writer.clock), std::memory_order_relaxed);
    slot.repeats.fetch_add(1, std::memory_order_relaxed);
    return true;
}

bool count_repetition(const Writer& writer, uint64_t now_ns) noexcept {
    if (!count_again(writer, newest.number)) return false;
    newest.time_ns = now_ns;
    return true;
}

// What was reported refusals before there were incidents.
void report_without_copy(const ttmem_incident& incident) noexcept {
    if (incident.kind == TTMEM_INCIDENT_OUT_OF_MEMORY)
        note_out_of_memory(incident.target, incident.pool, known(incident.requested_bytes), known(incident.free_bytes),
                           known(incident.largest_free_bytes));
    if (incident.kind == TTMEM_INCIDENT_CLASH)
        note_clash({incident.program, incident.cb_end_address, incident.buffer_address, incident.target});
}

void publish_incident(const ttmem_incident& incident, uint64_t number) noexcept {
    publish_now(IncidentRecord{number, incident.kind, incident.pool, incident.target, incident.site,
                               known(incident.requested_bytes)}
                    .pack());
}

// One record each, whatever its kind.
void report_repetition(const ttmem_incident& incident) noexcept {
    if (incident.kind == TTMEM_INCIDENT_UNSAFE_REPLAY) publish_incident(incident, newest.number);
    report_without_copy(incident);
}

Incident* claim(const Writer& writer, uint64_t number) noexcept {
    Incident* slot = slot_at(writer, slot_of(number));
    uint64_t seen = slot->commit.load(std::memory_order_relaxed);
    if (is_busy(seen) || seen >= committed(number)) return nullptr;
    const bool is_ours =
        slot->commit.compare_exchange_strong(seen, busy(number), std::memory_order_acq_rel, std::memory_order_relaxed);
    return is_ours ? slot : nullptr;
}

void put(AtomicU64& word, uint64_t value) noexcept { word.store(value, std::memory_order_release); }

void fill_figures(Incident& slot, const ttmem_incident& incident) noexcept {
    put(slot.requested, incident.requested_bytes);
    put(slot.per_bank, incident.per_bank_bytes);
    put(slot.free, incident.free_bytes);
    put(slot.largest, incident.largest_free_bytes);
    put(slot.bank_free, incident.bank_free_bytes);
    put(slot.bank_largest, incident.bank_largest_free_bytes);
    put(slot.banks, incident.bank_count);
    put(slot.space_begin, incident.space_begin_address);
    put(slot.space_end, incident.space_end_address);
    put(slot.program, incident.program);
    put(slot.cb_end, incident.cb_end_address);
    put(slot.lowest_buffer, incident.buffer_address);
    put(slot.trace, incident.trace);
    put(slot.address, incident.address);
}

// In whole words, as everything is read.
void fill_text(Incident& slot, const char* text, uint32_t bytes) noexcept {
    const uint32_t kept = text == nullptr ? 0 : std::min(bytes, kIncidentTextBytes);
    auto* words = reinterpret_cast<AtomicU64*>(slot.text);
    for (uint32_t at = 0; at < kept; at += sizeof(AtomicU64)) {
        uint64_t word = 0;
        std::memcpy(&word, text + at, std::min<size_t>(sizeof word, kept - at));
        put(words[at / sizeof(AtomicU64)], word);
    }
    put(slot.text_bytes, kept);
}

void fill(const Writer& writer, Incident& slot, const ttmem_incident& incident, uint64_t time) noexcept {
    put(slot.repeats, 0);
    put(slot.last_time, 0);
    put(slot.time, time);
    put(slot.site_and_phase, SiteAndPhase{incident.site, open_phase_name()}.pack());
    put(slot.other_site_and_cores, OtherSiteAndCores{incident.other_site, incident.core_set}.pack());
    put(slot.launches, writer.targets[incident.target].launches.load(std::memory_order_relaxed));
    fill_figures(slot, incident);
    fill_text(slot, incident.text, incident.text_bytes);
}

void fill_copy(const Writer& writer, Incident& slot, uint32_t number, const ttmem_incident& incident,
               bool wants_copy) noexcept {
    put(slot.sequence_before, writer.header->next_sequence.load(std::memory_order_acquire));
    CopyMade copy;
    if (wants_copy) copy = copy_alive(writer, number, Concerned(writer, incident.kind, incident.pool, incident.target));
    put(slot.sequence_after, writer.header->next_sequence.load(std::memory_order_acquire));
    put(slot.entries, copy.entries);
    put(slot.left_out, copy.left_out);
    put(slot.left_out_bytes, copy.left_out_bytes);
    constexpr uint32_t kReported = kReadLater | kHasText | kPerCore | kMayOverlap;
    const auto flags =
        static_cast<uint16_t>((incident.options & kReported) | (copy.has_pages ? 0u : uint32_t{kNoCopy}));
    put(slot.place, IncidentPlace{incident.kind, incident.pool, incident.target, thread_number(), flags}.pack());
}

uint64_t monotonic_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * kSecond + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

namespace {

// The count moves first, so anyone who is killed inside leaves that. Its own records come before the copy: what was given out
// after the copy is what others did later. Its number, or that of the incident it repeats.
uint64_t keep_incident(const ttmem_incident& incident, uint64_t now_ns, bool wants_copy) noexcept {
    const Writer& writer = the_writer;
    const uint64_t time = raw_now(writer.clock);
    if (is_again(writer, incident, now_ns) && count_repetition(writer, now_ns)) {
        report_repetition(incident);
        return newest.number;
    }
    Header& header = *writer.header;
    const uint64_t number = header.incidents.fetch_add(1, std::memory_order_acq_rel) + 1;
    header.incident_counts[incident.kind][incident.pool].fetch_add(1, std::memory_order_relaxed);
    TTMEM_TEST_YIELD(incident_counted);
    report_without_copy(incident);
    publish_incident(incident, number);
    Incident* slot = claim(writer, number);
    if (slot == nullptr) return number;
    TTMEM_TEST_YIELD(incident_claimed);
    fill(writer, *slot, incident, time);
    TTMEM_TEST_YIELD(incident_half_written);
    fill_copy(writer, *slot, slot_of(number), incident, wants_copy);
    TTMEM_TEST_YIELD(incident_copied);
    slot->commit.store(committed(number), std::memory_order_release);
    remember(writer, incident, number, now_ns);
    return number;
}

}  // namespace

void note_incident_at(const ttmem_incident& incident, uint64_t now_ns) noexcept {
    keep_incident(incident, now_ns, true);
}

__attribute__((noinline, cold)) void note_incident(const ttmem_incident& incident) noexcept {
    note_incident_at(incident, monotonic_ns());
}

uint64_t note_unsafe_replay(const ttmem_incident& incident, bool wants_copy) noexcept {
    return keep_incident(incident, monotonic_ns(), wants_copy);
}

void repeat_incident(uint64_t number) noexcept {
    const Writer& writer = the_writer;
    if (!count_again(writer, number)) return;
    const Incident& slot = *slot_at(writer, slot_of(number));
    const IncidentPlace place = IncidentPlace::unpack(slot.place.load(std::memory_order_relaxed));
    ttmem_incident again{};
    again.kind = place.kind;
    again.pool = place.pool;
    again.target = place.target;
    again.site = SiteAndPhase::unpack(slot.site_and_phase.load(std::memory_order_relaxed)).site;
    again.requested_bytes = slot.requested.load(std::memory_order_relaxed);
    publish_incident(again, number);
}

}  // namespace ttmem
