// Incidents as tests make them and find them again, in this process's own journal or in a dead one.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "support/check.hpp"
#include "writer/operations.hpp"

namespace ttmem {

inline ttmem_incident an_incident(uint16_t target, uint8_t pool, uint64_t requested) {
    ttmem_incident incident{};
    incident.struct_bytes = sizeof incident;
    incident.kind = TTMEM_INCIDENT_OUT_OF_MEMORY;
    incident.target = target;
    incident.pool = pool;
    incident.requested_bytes = requested;
    incident.per_bank_bytes = incident.free_bytes = incident.largest_free_bytes = incident.bank_free_bytes =
        incident.bank_largest_free_bytes = TTMEM_UNKNOWN_FIGURE;
    return incident;
}

inline void refuse(uint16_t target, uint8_t pool, uint64_t requested, const std::string& text = {}) {
    ttmem_incident incident = an_incident(target, pool, requested);
    incident.text = text.data();
    incident.text_bytes = static_cast<uint32_t>(text.size());
    ttmem_report_incident(&incident);
}

inline const Incident* incident_slots() {
    return reinterpret_cast<const Incident*>(reinterpret_cast<const char*>(the_writer.header) +
                                             the_writer.header->identity.incidents_offset);
}

/// The numbers whose heads are whole.
inline std::set<uint64_t> stored_numbers() {
    std::set<uint64_t> numbers;
    for (uint32_t slot = 0; slot < kIncidentSlots; ++slot) {
        const uint64_t commit = incident_slots()[slot].commit.load();
        if (is_committed(commit)) numbers.insert(sequence_of(commit));
    }
    return numbers;
}

struct Kept {
    const Incident& head;
    uint8_t kind, pool;
    uint16_t target;
    uint32_t flags, phase;
    uint64_t requested;
    std::string text;
    std::vector<RecordCopy> entries;

    std::multiset<uint64_t> ids() const {
        std::multiset<uint64_t> all;
        for (const RecordCopy& words : entries) all.insert(words.id);
        return all;
    }
};

inline Kept stored_incident(uint64_t number) {
    const uint32_t slot = slot_of(number);
    const Incident& head = incident_slots()[slot];
    REQUIRE(head.commit.load() == committed(number));
    const uint64_t place = head.place.load();
    Kept kept{head,
              static_cast<uint8_t>(place),
              static_cast<uint8_t>(place >> 8),
              static_cast<uint16_t>(place >> 16),
              static_cast<uint32_t>(place >> 48),
              static_cast<uint32_t>(head.site_and_phase.load() >> 32),
              head.requested.load(),
              std::string(head.text, head.text_bytes.load()),
              {}};
    const auto* copies = reinterpret_cast<const Record*>(reinterpret_cast<const char*>(the_writer.header) +
                                                         the_writer.header->identity.copies_offset) +
                         uint64_t{slot} * kIncidentEntries;
    for (uint64_t i = 0; i < head.entries.load(); ++i) {
        RecordCopy words;
        copy_words(copies[i], words);
        words.commit = copies[i].commit.load();
        kept.entries.push_back(words);
    }
    return kept;
}

/// What a journal of a dead process says.
struct DeadIncidents {
    uint64_t count = 0, counted = 0, first_commit = 0;

    explicit DeadIncidents(const char* path) {
        const int file = open(path, O_RDONLY | O_CLOEXEC);
        REQUIRE(file >= 0);
        alignas(Header) char header[sizeof(Header)];
        REQUIRE(pread(file, header, sizeof header, 0) == sizeof header);
        const auto& read = *reinterpret_cast<const Header*>(header);
        count = read.incidents.load();
        for (const auto& kind : read.incident_counts)
            for (const AtomicU64& pool : kind) counted += pool.load();
        REQUIRE(pread(file, &first_commit, sizeof first_commit, static_cast<off_t>(read.identity.incidents_offset)) ==
                sizeof first_commit);
        close(file);
    }
};

}  // namespace ttmem
