#include "ledger/places/footprint.hpp"

#include <algorithm>
#include <cstdio>

namespace ttmem {
namespace {

constexpr uint32_t kSideMost = 64;  // no chip has more cores in a row; another process's text must not fill our memory
constexpr size_t kPlacesMost = 1u << 16;      // cores of all sets together: no honest program comes near
constexpr uint64_t kFirstCores = 1ull << 32;  // a set known by its size only: | count

/// Everything on one core set.
struct Layer {
    std::vector<const CbSpan*> spans;
    Spans planned;  // joined
    const CbSpan* newest = nullptr;
};

std::map<uint64_t, Layer> layers_of(const std::vector<CbSpan>& spans) {
    std::map<uint64_t, Layer> layers;
    for (const CbSpan& span : spans) {
        Layer& layer = layers[span.core_set];
        layer.spans.push_back(&span);
        layer.planned.emplace_back(span.begin, span.end);
        if (span.launched != 0 && (layer.newest == nullptr || span.launched > layer.newest->launched))
            layer.newest = &span;
    }
    for (auto& [name, layer] : layers) join(layer.planned);
    return layers;
}

/// Cores on which the same layers lie.
std::map<std::vector<const Layer*>, Cores> stacks_of(const std::map<uint64_t, Layer>& layers,
                                                     const std::map<uint64_t, Cores>& core_sets) {
    std::vector<std::vector<const Layer*>> on_core(kSideMost * 256);
    for (const auto& [name, layer] : layers) {
        const auto cores = core_sets.find(name);
        if (cores == core_sets.end()) continue;
        for (const uint32_t core : cores->second) on_core[core].push_back(&layer);
    }
    std::map<std::vector<const Layer*>, Cores> stacks;
    for (uint32_t core = 0; core < on_core.size(); ++core)
        if (!on_core[core].empty()) stacks[std::move(on_core[core])].push_back(core);
    return stacks;
}

Spans planned_on(const std::vector<const Layer*>& stack) {
    Spans all;
    for (const Layer* layer : stack) all.insert(all.end(), layer->planned.begin(), layer->planned.end());
    join(all);
    return all;
}

Spans resident_on(const std::vector<const Layer*>& stack) {
    const CbSpan* newest = nullptr;
    for (const Layer* layer : stack)
        if (layer->newest != nullptr && (newest == nullptr || layer->newest->launched > newest->launched))
            newest = layer->newest;
    Spans own;
    if (newest == nullptr) return own;
    for (const Layer* layer : stack)
        for (const CbSpan* span : layer->spans)
            if (span->program == newest->program) own.emplace_back(span->begin, span->end);
    join(own);
    return own;
}

const Cores& learn_cores(Laid& laid, uint64_t name, Cores cores) {
    laid.place_count += cores.size() + 1;
    return laid.core_sets[name] = std::move(cores);
}

Cores first_cores(uint32_t count) {
    Cores cores;
    for (uint32_t i = 0; i < count && i < kSideMost * kSideMost; ++i)
        cores.push_back(i % kSideMost + i / kSideMost * 256);
    return cores;
}

template <typename TextOf>
uint64_t core_set_of(uint64_t told, uint64_t count, const TextOf& text_of, Laid& laid) {
    if (told != 0) {
        const auto known = laid.core_sets.find(told);
        const Cores& cores = known != laid.core_sets.end()
                                 ? known->second
                                 : learn_cores(laid, told, cores_of(text_of(static_cast<uint32_t>(told))));
        laid.has_unplaced |= !cores.empty() && cores.size() != count;  // it says two things
        if (!cores.empty()) return told;
    }
    laid.has_unplaced = true;
    const uint64_t name = kFirstCores | count;
    if (!laid.core_sets.contains(name)) learn_cores(laid, name, first_cores(static_cast<uint32_t>(count)));
    return name;
}

/// How a circular buffer is read from an entry.
using Unpack = CircularBufferRecord (*)(const RecordCopy& words);

// A message of the allocation server says an address, a size, and no cores: it is taken for that of one core, as the
// same call is in a journal.
CircularBufferRecord unpacked_message(const RecordCopy& words) {
    CircularBufferRecord cb{};
    const uint64_t address = SocketRecord::unpack(words).address;
    cb.address = address <= UINT32_MAX ? static_cast<uint32_t>(address) : 0;
    cb.per_core = words.reserved_bytes();
    cb.core_count = 1;
    return cb;
}

template <typename ForEach, typename TextOf>
Laid laid_out(const ForEach& for_each, const TextOf& text_of, Unpack unpack) {
    Laid laid;
    std::map<std::pair<uint16_t, uint64_t>, uint64_t> launched;
    for_each([&](const RecordCopy& words) {
        if (words.kind() == TTMEM_PROGRAM_BINARY && words.launches() != 0) {
            const uint64_t last = ProgramRecord::unpack(words).launched;
            launched[{words.target(), words.id}] = last != 0 ? last : words.sequence();
        }
        if (words.pool() != TTMEM_CB || !is_circular_buffer(words.kind())) return;
        if ((words.flags() & kView) != 0 || laid.is_too_much()) return;
        const CircularBufferRecord cb = unpack(words);
        const auto [first, last] = span_at(cb.address, cb.per_core);
        const uint64_t cores = core_set_of(cb.core_set, cb.core_count, text_of, laid);
        laid.by_target[words.target()].push_back({first, last, cores, cb.program, 0});
    });
    for (auto& [target, spans] : laid.by_target)
        for (CbSpan& span : spans) {
            const auto last = launched.find({target, span.program});
            if (last != launched.end() && span.program != 0) span.launched = last->second;
            if (span.program != 0) span.program |= uint64_t{target} << 48;  // another target's program is another one
        }
    return laid;
}

// Most processes of a crowd have none: no need to go through all that they have.
bool has_circular_buffers(const Book& book) {
    if ((book.used_kinds() >> TTMEM_CIRCULAR_BUFFER & ((2u << (TTMEM_SCRATCHPAD - TTMEM_CIRCULAR_BUFFER)) - 1)) == 0)
        return !book.is_counting();
    for (const auto& [device, cell] : book.cells())
        for (uint32_t kind = TTMEM_CIRCULAR_BUFFER; kind <= TTMEM_SCRATCHPAD; ++kind)
            if (cell.kinds[kind].count > 0) return true;
    return !book.is_counting();
}

}  // namespace

bool Laid::is_too_much() const { return place_count > kPlacesMost; }

Laid laid_by(const Book& book) {
    if (!has_circular_buffers(book)) return {};
    return laid_out([&](const auto& visit) { book.table().for_each(visit); },
                    [&](uint32_t id) { return book.text(id); },
                    book.has_messages() ? unpacked_message : CircularBufferRecord::unpack);
}

Laid laid_by(const std::vector<RecordCopy>& entries, const std::function<std::string(uint32_t)>& text_of) {
    const auto for_each = [&](const auto& visit) {
        for (const RecordCopy& words : entries) visit(words);
    };
    return laid_out(for_each, text_of, CircularBufferRecord::unpack);
}

void note_launches(Laid& laid, const Book& book) {
    for (auto& [target, spans] : laid.by_target)
        for (CbSpan& span : spans) {
            if (span.program == 0) continue;
            const RecordCopy* program =
                book.table().find({span.program & 0xffff'ffff'ffffull, target, TTMEM_PROGRAM_BINARY});
            if (program != nullptr && program->launches() != 0)
                span.launched = program->address != 0 ? program->address : program->sequence();
        }
}

Laid core_buffers_of(const Book& book) {
    Laid laid;
    book.table().for_each([&](const RecordCopy& words) {
        if (!words.is_by_core() || laid.is_too_much()) return;
        const auto [first, last] = span_at(words.buffer_address(), words.per_core_bytes());
        const auto text_of = [&](uint32_t id) { return book.text(id); };
        const uint64_t cores = core_set_of(words.core_set(), words.core_count(), text_of, laid);
        laid.by_target[words.target()].push_back({first, last, cores, 0, 0});
    });
    return laid;
}

Cores cores_of(const std::string& text) {
    Cores cores;
    const char* at = text.c_str();
    while (*at != '\0') {
        uint32_t x0 = 0, y0 = 0, x1 = 0, y1 = 0;
        int length = 0;
        if (std::sscanf(at, "%3u,%3u%n", &x0, &y0, &length) != 2) return {};
        at += length;
        x1 = x0, y1 = y0;
        if (*at == '-') {
            if (std::sscanf(at, "-%3u,%3u%n", &x1, &y1, &length) != 2) return {};
            at += length;
        }
        if (x1 >= kSideMost || y1 >= kSideMost || x0 > x1 || y0 > y1 || (*at != ';' && *at != '\0')) return {};
        if (*at == ';') ++at;
        for (uint32_t y = y0; y <= y1; ++y)
            for (uint32_t x = x0; x <= x1; ++x) cores.push_back(y * 256 + x);
        if (cores.size() > size_t{4} * kSideMost * kSideMost) return {};
    }
    std::sort(cores.begin(), cores.end());
    cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
    return cores;
}

std::vector<CoreGroup> core_groups(const std::vector<CbSpan>& spans, const std::map<uint64_t, Cores>& core_sets) {
    std::vector<CoreGroup> groups;
    if (spans.empty()) return groups;
    const std::map<uint64_t, Layer> layers = layers_of(spans);
    for (auto& [stack, cores] : stacks_of(layers, core_sets))
        groups.push_back({cores, planned_on(stack), resident_on(stack)});
    return groups;
}

Footprint footprint_of(const std::vector<CbSpan>& spans, const std::map<uint64_t, Cores>& core_sets) {
    Footprint footprint;
    for (const CbSpan& span : spans) footprint.has_strangers |= span.program == 0;
    for (const CoreGroup& group : core_groups(spans, core_sets)) {
        const uint64_t planned = length_of(group.planned), resident = length_of(group.resident);
        footprint.planned += planned * group.cores.size();
        footprint.resident += resident * group.cores.size();
        footprint.worst_planned = std::max(footprint.worst_planned, planned);
        footprint.worst_resident = std::max(footprint.worst_resident, resident);
    }
    return footprint;
}

Footprints footprints_of(const Book& book) { return footprints_of(book, laid_by(book)); }

Footprints footprints_of(const Book& book, const Laid& laid) {
    Footprints footprints;
    if (laid.by_target.empty() || laid.is_too_much()) return footprints;  // then it is unknown
    std::map<std::vector<uint16_t>, Footprint> known;  // chips of a mesh have the same targets, and the same footprint
    for (const auto& [device, cell] : book.cells()) {
        std::vector<uint16_t> targets;
        for (const auto& [target, spans] : laid.by_target)
            if (book.touches(book.targets()[target], device)) targets.push_back(target);
        if (targets.empty()) continue;
        const auto [at, is_new] = known.try_emplace(targets);
        if (is_new) {
            std::vector<CbSpan> spans;
            for (const uint16_t target : targets) {
                const std::vector<CbSpan>& some = laid.by_target.at(target);
                spans.insert(spans.end(), some.begin(), some.end());
            }
            at->second = footprint_of(spans, laid.core_sets);
            at->second.is_estimated = laid.has_unplaced;
        }
        footprints.emplace_back(device, at->second);
    }
    return footprints;
}

}  // namespace ttmem
