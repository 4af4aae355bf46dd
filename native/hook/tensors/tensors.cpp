#include "hook/tensors/tensors.hpp"

#include "hook/naming/pending.hpp"
#include "hook/programs/context.hpp"
#include "hook/tensors/description.hpp"
#include "interpreter/sites.hpp"
#include "ttmem/client.h"
#include "writer/operations.hpp"
#include "writer/owner.hpp"

namespace ttmem::hook {
namespace {

constexpr uint64_t kLayoutOffset = 0x38;  // of the TensorLayout in a TensorSpec

// The copy of the runtime whose offset was confirmed last, by its number; 0: none.
std::atomic<uint32_t> confirmed_copy{0};

void read_shape(const Copy& copy, const void* spec, TensorForm& form) noexcept {
    auto* rank_of = getter_as<uint64_t(const void*)>(copy, Getter::shape_rank);
    auto* sides_of = getter_as<const uint32_t*(const void*)>(copy, Getter::shape_begin);
    if (rank_of == nullptr || sides_of == nullptr) return;
    const uint64_t rank = rank_of(spec);
    const uint32_t* sides = rank == 0 || rank > kRankMost ? nullptr : sides_of(spec);
    if (sides == nullptr) return;
    form.rank = static_cast<uint32_t>(rank);
    for (uint32_t i = 0; i < form.rank; ++i) form.sides[i] = sides[i];
}

void read_type(const Copy& copy, const void* spec, TensorForm& form) noexcept {
    auto* type_of = getter_as<int(const void*)>(copy, Getter::tensor_data_type);
    auto* layout_of = getter_as<int(const void*)>(copy, Getter::tensor_layout);
    auto* page_of = getter_as<uint64_t(const void*)>(copy, Getter::tensor_page_size);
    if (type_of == nullptr || layout_of == nullptr || page_of == nullptr) return;
    const void* layout = static_cast<const char*>(spec) + kLayoutOffset;
    form.data_type = type_of(layout);
    form.layout = layout_of(layout);
    form.has_type = confirmed_copy.load(std::memory_order_relaxed) == copy.number;
    if (__builtin_expect(form.has_type, 1)) return;
    const uint64_t page = page_bytes_of(form);
    form.has_type = page != 0 && page == page_of(spec);
    if (form.has_type) confirmed_copy.store(copy.number, std::memory_order_relaxed);
}

// Equal forms have equal numbers, and never 0.
uint64_t number_of(const TensorForm& form) noexcept {
    uint64_t number = form.rank;
    for (uint32_t i = 0; i < form.rank; ++i) number = mixed(number, form.sides[i]);
    const auto type = static_cast<uint32_t>(form.data_type) << 8 | static_cast<uint32_t>(form.layout & 0xff);
    return mixed(number, form.has_type ? type : ~0u);
}

[[gnu::noinline]] uint32_t new_tensor_site(ttmem_site_source source, const TensorForm& form, uint64_t number) noexcept {
    const uint32_t parent = source == nullptr ? 0 : source();
    const uint32_t site = ttmem_stack_node_on(parent, TTMEM_TENSOR, TensorWords(form).text(), "", 0);
    if (number != 0) keep_site(number, site);
    return site;
}

}  // namespace

void put_tensor_back(void* before) noexcept { context().tensor = *static_cast<const void**>(before); }

Asked asked_by(const Copy& copy) noexcept {
    if (!has_journal() || !is_found_owner()) return {};
    const ttmem_site_source source = site_source.load(std::memory_order_acquire);
    const bool is_python = source == python_site;
    const uint64_t stack = is_python ? python_stack() : 0;
    TensorForm form;
    if (const void* spec = context().tensor) {
        read_shape(copy, spec, form);
        if (form.rank != 0) read_type(copy, spec, form);
    }
    if (form.rank == 0) return {stack == 0 ? 0 : site_of_stack(stack), stack};
    const uint64_t number = mixed(stack, number_of(form));
    uint32_t site = 0;
    const bool is_kept = is_python || source == nullptr;  // any other source may say something else each time
    if (!is_kept || !pending_buffers.last_asked.find(number, site))
        site = new_tensor_site(source, form, is_kept ? number : 0);
    return {site, stack};
}

}  // namespace ttmem::hook

using ttmem::hook::Hook;
using ttmem::hook::word_of;

TTMEM_INTERPOSE_HOT(allocate_tensor, uint64_t, (void* result, void* mesh, const void* spec)) {
    void* real = ttmem::hook::original(Hook::allocate_tensor);
    const void*& tensor = ttmem::hook::context().tensor;
    const void* before = tensor;
    if (TTMEM_ON) tensor = spec;
    const uint64_t arguments[6] = {word_of(result), word_of(mesh), word_of(spec)};
    const uint64_t made = ttmem_guarded_call(real, arguments, ttmem::hook::put_tensor_back, &before).low;
    tensor = before;
    return made;
}
