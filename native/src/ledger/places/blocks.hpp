// Memory in large blocks: from 2 MiB on aligned and offered to the kernel as huge pages. A random entry among a million
// costs a page walk otherwise. Blocks are not filled: what is never used is never touched.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace ttmem {

inline void* allocate_block(size_t bytes) {
    constexpr size_t kHuge = size_t{2} << 20;
    const bool is_large = bytes >= kHuge;
    void* block = is_large ? std::aligned_alloc(kHuge, (bytes + kHuge - 1) / kHuge * kHuge) : std::malloc(bytes);
    if (block == nullptr) throw std::bad_alloc();
    if (is_large) madvise(block, bytes, MADV_HUGEPAGE);
    return block;
}

struct FreeBlock {
    void operator()(void* block) const { std::free(block); }
};

/// An array of trivially copyable things, not filled.
template <typename T>
using Block = std::unique_ptr<T[], FreeBlock>;

template <typename T>
Block<T> make_block(size_t count) {
    return Block<T>(static_cast<T*>(allocate_block(count * sizeof(T))));
}

template <typename T>
struct BlockAllocator {
    using value_type = T;
    BlockAllocator() = default;
    template <typename U>
    explicit BlockAllocator(const BlockAllocator<U>&) {}
    T* allocate(size_t count) { return static_cast<T*>(allocate_block(count * sizeof(T))); }
    void deallocate(T* block, size_t) { std::free(block); }
    bool operator==(const BlockAllocator&) const { return true; }
};

}  // namespace ttmem
