// Memory that ran out, and requests that the allocator found impossible.
#include "hook/buffer_facts.hpp"
#include "hook/naming/callers.hpp"
#include "hook/naming/pending.hpp"
#include "hook/refusals/passing.hpp"
#include "hook/refusals/refusals.hpp"
#include "hook/refusals/words.hpp"
#include "hook/tensors/tensors.hpp"
#include "ttmem/client.h"

namespace ttmem::hook {

ttmem_incident an_incident(uint8_t kind, std::string_view words) noexcept {
    ttmem_incident incident{};
    incident.struct_bytes = sizeof incident;
    incident.kind = kind;
    incident.pool = TTMEM_POOL_UNKNOWN;
    incident.requested_bytes = incident.per_bank_bytes = TTMEM_UNKNOWN_FIGURE;
    incident.free_bytes = incident.largest_free_bytes = TTMEM_UNKNOWN_FIGURE;
    incident.bank_free_bytes = incident.bank_largest_free_bytes = TTMEM_UNKNOWN_FIGURE;
    incident.text = words.data();
    incident.text_bytes = static_cast<uint32_t>(words.size());
    return incident;
}

namespace {

constexpr int kL1Memory = 0, kDramMemory = 1;  // tt-metal's HalMemType

// The request, and who refused it.
struct Refused {
    const Copy& copy;
    const void* view;  // of the allocator; null: nobody says
    const void* buffer;
    const Mesh* mesh;  // null: it is on a chip, or nobody knows where
    uint8_t type;      // tt-metal's BufferType, or kUnknownType
};

struct Statistics {
    uint64_t total, allocated, free, largest;  // of one bank
};

const void* view_of(const Copy& copy, const void* allocator) noexcept {
    const auto* view = ask<const void* const*>(copy, Getter::allocator_view, nullptr, allocator);
    return view == nullptr ? nullptr : *view;
}

// The mesh of the buffer; where a release does not tell it, of the allocator that refused.
const Mesh* mesh_of_refused(const Copy& copy, const void* view, const void* buffer) noexcept {
    const Mesh* mesh = mesh_holding(copy, buffer);
    if (mesh != nullptr || getter_as<const void*(const void*)>(copy, Getter::buffer_device) != nullptr) return mesh;
    return mesh_with_allocator(view);
}

uint16_t target_of_refused(const Refused& refused) noexcept {
    if (refused.mesh != nullptr) return target_of(*refused.mesh);
    const void* device = ask<const void*>(refused.copy, Getter::buffer_device, nullptr, refused.buffer);
    return device == nullptr ? uint16_t{0} : target_of(device);
}

void take_words(const RefusedWords& words, ttmem_incident& incident) noexcept {
    incident.options |= TTMEM_FIGURES_OF_TEXT;
    incident.requested_bytes = words.requested_bytes;
    incident.per_bank_bytes = words.per_bank_bytes;
    incident.bank_free_bytes = words.free_bytes;
    incident.bank_largest_free_bytes = words.largest_bytes;
    incident.bank_count = words.bank_count;
    incident.free_bytes = words.free_bytes * words.bank_count;
    incident.largest_free_bytes = words.largest_bytes * words.bank_count;
}

// What is said is that of the one core which had no room: what was asked for in all, and of how many, the buffer knows.
void take_cores(const Refused& refused, ttmem_incident& incident) noexcept {
    incident.options |= TTMEM_PER_CORE;
    incident.requested_bytes = size_of(refused.copy, refused.buffer);
    incident.free_bytes = incident.largest_free_bytes = TTMEM_UNKNOWN_FIGURE;
    const uint64_t each = incident.per_bank_bytes;
    incident.bank_count = each == 0 || each == TTMEM_UNKNOWN_FIGURE
                              ? 0
                              : static_cast<uint32_t>((incident.requested_bytes + each - 1) / each);
}

// Of a memory that this device was opened without there are no banks, and nothing is asked of them.
void ask_figures(const Refused& refused, ttmem_incident& incident) noexcept {
    incident.options |= TTMEM_FIGURES_READ_LATER;
    incident.requested_bytes = size_of(refused.copy, refused.buffer);
    const uint32_t banks =
        refused.mesh == nullptr || refused.type >= kBufferTypes ? 0 : refused.mesh->bank_counts[refused.type];
    auto* tell = getter_as<void(Statistics*, const void*, const int*)>(refused.copy, Getter::bank_statistics);
    if (banks == 0 || tell == nullptr || refused.view == nullptr) return;
    const int type = refused.type;
    Statistics statistics{};
    tell(&statistics, refused.view, &type);
    incident.bank_count = banks;
    incident.bank_free_bytes = statistics.free;
    incident.bank_largest_free_bytes = statistics.largest;
    incident.free_bytes = statistics.free * banks;
    incident.largest_free_bytes = statistics.largest * banks;
}

// tt-metal's AllocatorImpl lays L1_SMALL right above the banks of L1, and those of traces above those of DRAM. While
// sub-devices have L1 of their own that is taken off the beginning of the mesh's, which ends where it did.
void ask_space(const Refused& refused, uint64_t bank_bytes, ttmem_incident& incident) noexcept {
    const bool is_l1 = refused.type == TTMEM_BUFFER_L1 || refused.type == TTMEM_BUFFER_L1_SMALL;
    const bool is_dram = refused.type == TTMEM_BUFFER_DRAM || refused.type == TTMEM_BUFFER_TRACE;
    auto* size_of_bank = getter_as<uint64_t(const void*, const int*)>(refused.copy, Getter::bank_size);
    if (refused.view == nullptr || size_of_bank == nullptr || (!is_l1 && !is_dram)) return;
    const int type = refused.type, lower_type = is_l1 ? TTMEM_BUFFER_L1 : TTMEM_BUFFER_DRAM;
    const bool is_mesh_wide = refused.mesh != nullptr && refused.mesh->allocator == refused.view;
    const auto opened_size_of = [&](int of) {
        const uint64_t opened = is_mesh_wide ? refused.mesh->bank_bytes[of] : 0;
        return opened != 0 ? opened : size_of_bank(refused.view, &of);
    };
    uint64_t end = ask<uint32_t>(refused.copy, Getter::bank_base, 0, refused.view, is_l1 ? &kL1Memory : &kDramMemory);
    if (end == 0) return;
    if (type != lower_type) end += opened_size_of(lower_type);
    end += opened_size_of(type);
    if (bank_bytes == kUntoldFigure) bank_bytes = size_of_bank(refused.view, &type);
    incident.space_begin_address = end - bank_bytes;
    incident.space_end_address = end;
}

// The line, the tensor, and the operation that will not get what it asked for.
uint32_t site_of_refused(const Copy& copy) noexcept {
    Operation operation;
    find_operation(nullptr, operation);
    return site_with(asked_by(copy).site, operation);
}

}  // namespace

void report_refusal(void* allocator, void* buffer) noexcept {
    const Copy* copy = at_hand.copy;
    forget_pending();
    if (!TTMEM_ON || copy == nullptr || !is_exception_passing()) return;
    const std::string_view text = words_of_passing();
    RefusedWords words;
    const bool is_told = read_refused(text, words);
    const void* view = view_of(*copy, allocator);
    Refused refused{*copy, view, buffer, mesh_of_refused(*copy, view, buffer), words.type};
    if (refused.type == kUntoldType) refused.type = type_of(*copy, buffer);
    ttmem_incident incident = an_incident(TTMEM_INCIDENT_OUT_OF_MEMORY, text);
    incident.target = target_of_refused(refused);
    if (refused.type < kBufferTypes) incident.pool = kPoolOf[refused.type];
    is_told ? take_words(words, incident) : ask_figures(refused, incident);
    if (is_by_core(*copy, buffer))
        take_cores(refused, incident);
    else if (refused.mesh != nullptr && refused.type == TTMEM_BUFFER_L1 && is_of_sub_device(*refused.mesh, view))
        incident.core_set = cores_of_sub_device(*copy, *refused.mesh, view).core_set;
    ask_space(refused, words.bank_bytes, incident);
    incident.site = site_of_refused(*copy);
    ttmem_incident_on(&incident);
}

}  // namespace ttmem::hook
