// The getters of a buffer: two loads each, in the very instructions that the runtime's are compiled to.
//
// A stand-in that is not optimised would have others. FAKE_CALLED_GETTERS leaves them to the compiler, as does any other
// processor: then nobody can tell what they load, and they are called.
#include "runtime.hpp"

#if defined(__x86_64__) && !defined(FAKE_CALLED_GETTERS)

#define FAKE_GETTER(name, instructions)           \
    asm(".pushsection .text\n"                    \
        ".globl " name "\n.type " name            \
        ", @function\n" name ":\n" instructions   \
        "\n.size " name ", . - " name             \
        "\n"                                      \
        ".popsection")
#define FAKE_TO_HIDDEN "mov " FAKE_HIDDEN "(%rdi), %rax\n"
#define FAKE_WIDE_FIELD(offset) FAKE_TO_HIDDEN "mov " offset "(%rax), %rax\nret"
#define FAKE_FIELD(offset) FAKE_TO_HIDDEN "mov " offset "(%rax), %eax\nret"

FAKE_GETTER("_ZNK2tt8tt_metal6Buffer9unique_idEv", FAKE_WIDE_FIELD(FAKE_ID));
FAKE_GETTER("_ZNK2tt8tt_metal6Buffer4sizeEv", FAKE_WIDE_FIELD(FAKE_SIZE));
FAKE_GETTER("_ZNK2tt8tt_metal6Buffer9page_sizeEv", FAKE_WIDE_FIELD(FAKE_PAGE_SIZE));
FAKE_GETTER("_ZNK2tt8tt_metal6Buffer6deviceEv", FAKE_WIDE_FIELD(FAKE_DEVICE));
FAKE_GETTER("_ZNK2tt8tt_metal6Buffer11buffer_typeEv", FAKE_FIELD(FAKE_TYPE));
FAKE_GETTER("_ZNK2tt8tt_metal6Buffer13buffer_layoutEv", FAKE_FIELD(FAKE_LAYOUT));
// Where the runtime complains of a buffer without an address, 0 is told.
FAKE_GETTER("_ZNK2tt8tt_metal6Buffer7addressEv",
            FAKE_TO_HIDDEN "cmpb $0, " FAKE_HAS_PLACE "(%rax)\nje 1f\nmov " FAKE_PLACE
                           "(%rax), %eax\nret\n1: xor %eax, %eax\nret");
FAKE_GETTER("_ZNK2tt8tt_metal6Buffer9allocatorEv",
            "push %rax\n" FAKE_TO_HIDDEN "mov " FAKE_ALLOCATOR
            "(%rax), %rdi\ncall _ZNK2tt8tt_metal13AllocatorImpl4viewEv@PLT\nmov (%rax), %rax\npop %rcx\nret");

#else

namespace tt::tt_metal {

uint64_t Buffer::unique_id() const { return hidden->id; }
uint64_t Buffer::size() const { return hidden->size_bytes; }
uint64_t Buffer::page_size() const { return hidden->page_bytes; }
IDevice* Buffer::device() const { return hidden->device; }
BufferType Buffer::buffer_type() const { return static_cast<BufferType>(hidden->type); }
uint8_t Buffer::buffer_layout() const { return static_cast<uint8_t>(hidden->layout); }
uint32_t Buffer::address() const { return hidden->has_place ? static_cast<uint32_t>(hidden->place) : 0; }
Allocator* Buffer::allocator() const { return hidden->allocator->view().get(); }

}  // namespace tt::tt_metal

#endif
