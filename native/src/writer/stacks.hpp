// Who asked, as nodes of a tree in the journal (journal/names.hpp: stacks). Sites of Python frames, tensors and operations.
//
// A node is made once: private tables in front of the journal find it again. They belong to one journal. A forked child
// begins with an empty tree, so a site that was made before a fork means nothing in the child: anyone who keeps sites compares
// the_writer.generation.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "journal/layout.hpp"
#include "writer/own_stack.hpp"
#include "writer/writer.hpp"

namespace ttmem {

/// The node of `kind` with this name below `parent` (a site, 0: none): found or made. kOtherSite where there is no room, and
/// below kOtherSite. Below a site that is a text there are no nodes: it is handed back. Only while has_journal(). Takes no
/// lock, may be called by a signal handler; the same arguments give the same site.
uint32_t stack_node(uint32_t parent, Node kind, std::string_view name, std::string_view file = {},
                    uint32_t line = 0) noexcept;

/// Memory of this process that belongs to one journal and begins as zeros: made at first use, and again for another journal.
/// `Part` begins with a uint32_t that is its journal's generation. Null: there is no memory.
template <typename Part>
Part* of_this_journal(std::atomic<Part*>& held) noexcept {
    Part* known = held.load(std::memory_order_acquire);
    if (__builtin_expect(known != nullptr && known->generation == the_writer.generation, 1)) return known;
    const SavedErrno kept;
    void* room =
        mmap(nullptr, sizeof(Part), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return nullptr;
    auto* made = static_cast<Part*>(room);
    made->generation = the_writer.generation;
    // What a forked child has of its parent's stays where it is: a signal may have interrupted a process who looks at it.
    if (held.compare_exchange_strong(known, made, std::memory_order_acq_rel)) return made;
    munmap(room, sizeof(Part));
    return known != nullptr && known->generation == the_writer.generation ? known : nullptr;
}

}  // namespace ttmem
