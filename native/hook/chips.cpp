#include "hook/chips.hpp"

#include <atomic>
#include <cstring>

#include "hook/runtime.hpp"
#include "ttmem/client.h"

namespace ttmem::hook {
namespace {

constexpr int kChips = 1024;
constexpr uint64_t kMadeUp = 0xffff'ffff'0000'0000ull;

std::atomic<uint64_t> told_ids[kChips];  // by the runtime's own counters; 0: not told
std::atomic<uint16_t> targets[kChips];

bool is_chip(int chip) noexcept { return chip >= 0 && chip < kChips; }

// std::unordered_map<int, uint64_t>: its nodes form one list, which begins in the third word.
struct Node {
    const Node* next;
    int key;
    uint64_t value;
};
struct Map {
    const void* buckets;
    uint64_t bucket_count;
    const Node* first;
};

const void* cluster() noexcept {
    const void* context = ask<const void*>(Getter::context_instance, nullptr, 0);
    return context == nullptr ? nullptr : ask<const void*>(Getter::context_cluster, nullptr, context);
}

uint64_t described_id_of(int chip) noexcept {
    const void* machine = cluster();
    if (machine == nullptr) return 0;
    const void* description = ask<const void*>(Getter::cluster_description, nullptr, machine);
    if (description == nullptr) return 0;
    const auto* ids = ask<const Map*>(Getter::chip_unique_ids, nullptr, description);
    if (ids == nullptr) return 0;
    for (const Node* node = ids->first; node != nullptr; node = node->next)
        if (node->key == chip) return node->value;
    return 0;
}

// std::string as a function returns it: short texts lie inside it.
struct Text {
    char* begin = nullptr;
    uint64_t length = 0;
    char inside[16] = {};
    ~Text() {
        auto* release = getter_as<void(void*)>(Getter::operator_delete);
        if (begin != nullptr && begin != inside && release != nullptr) release(begin);
    }
};

void name_of(Getter namer, int value, char (&name)[kNameRoom]) noexcept {
    name[0] = '\0';
    auto* tell = getter_as<void(Text*, int)>(namer);
    if (tell == nullptr) return;
    Text text;
    tell(&text, value);
    const uint64_t length = text.length < sizeof name ? text.length : sizeof name - 1;
    std::memcpy(name, text.begin, length);
    name[length] = '\0';
}

}  // namespace

uint64_t unique_id_of(int chip) noexcept {
    if (!is_chip(chip)) return kMadeUp | static_cast<uint32_t>(chip);
    uint64_t id = told_ids[chip].load(std::memory_order_relaxed);
    if (id == 0) {
        id = described_id_of(chip);
        told_ids[chip].store(id, std::memory_order_relaxed);
    }
    return id != 0 ? id : kMadeUp | static_cast<uint32_t>(chip);
}

void name_of_arch(int arch, char (&name)[kNameRoom]) noexcept { name_of(Getter::arch_name, arch, name); }

void name_of_board(int chip, char (&name)[kNameRoom]) noexcept {
    name[0] = '\0';
    const void* machine = cluster();
    if (machine == nullptr || getter(Getter::cluster_board) == nullptr) return;
    name_of(Getter::board_name, ask<int>(Getter::cluster_board, 0, machine, chip), name);
}

void note_chip_target(int chip, uint16_t target) noexcept {
    if (is_chip(chip)) targets[chip].store(target, std::memory_order_release);
}

uint16_t chip_target(int chip) noexcept {
    return is_chip(chip) ? targets[chip].load(std::memory_order_acquire) : uint16_t{0};
}

void tell_unique_id(int chip, uint64_t id) noexcept {
    if (is_chip(chip)) told_ids[chip].store(id, std::memory_order_relaxed);
}

}  // namespace ttmem::hook

TTMEM_INTERPOSE(stats_provider_made, void*,
                (void* self, uint64_t unique_id, int chip, uint64_t is_remote, uint64_t is_verbose)) {
    ttmem::hook::forget_unloaded();
    auto* real = ttmem::hook::original_as<void*(void*, uint64_t, int, uint64_t, uint64_t)>(
        ttmem::hook::Hook::stats_provider_made);
    ttmem::hook::tell_unique_id(chip, unique_id);
    return real == nullptr ? self : real(self, unique_id, chip, is_remote, is_verbose);
}

TTMEM_INTERPOSE(old_stats_provider_made, void*, (void* self, uint64_t unique_id, int chip)) {
    ttmem::hook::forget_unloaded();
    auto* real = ttmem::hook::original_as<void*(void*, uint64_t, int)>(ttmem::hook::Hook::old_stats_provider_made);
    ttmem::hook::tell_unique_id(chip, unique_id);
    return real == nullptr ? self : real(self, unique_id, chip);
}
