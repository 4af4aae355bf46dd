#include "hook/refusals/passing.hpp"

#include <unwind.h>

#include <cstdint>
#include <cstring>

#include "hook/guard.h"

namespace ttmem::hook {
namespace {

// How an exception names its maker: libstdc++ or libc++, the last byte 1 for one that shares another one's object.
constexpr uint64_t kOfGnu = 0x474e'5543'432b'2b00, kOfLlvm = 0x434c'4e47'432b'2b00, kShares = 1;
constexpr uint64_t kWordsMost = 4096;  // that are looked at
constexpr uint32_t kBasesMost = 16;
constexpr std::ptrdiff_t kHeaderBytes = 80;  // from the type in the header to the unwinder's part
static_assert(sizeof(_Unwind_Exception) == 32 && sizeof(void*) == 8);

// A std::type_info; of a class with one base at its beginning that base is the third word.
struct Type {
    const Type* const* table;
    const char* name;
    const Type* base;
};

// Names of types that are private to a library begin with a star.
bool is_named(const Type& type, const char* name) noexcept {
    return std::strcmp(type.name + (*type.name == '*'), name) == 0;
}

// The word before a table of functions is the type of what has that table: here, of the description itself.
bool has_one_base(const Type& type) noexcept {
    const Type* description = type.table[-1];
    return description != nullptr && is_named(*description, "N10__cxxabiv120__si_class_type_infoE");
}

bool is_std_exception(const Type* type) noexcept {
    for (uint32_t i = 0; i < kBasesMost && type != nullptr; ++i) {
        if (is_named(*type, "St9exception")) return true;
        if (!has_one_base(*type)) return false;
        type = type->base;
    }
    return false;
}

template <class T>
T word_before(const void* place, std::ptrdiff_t bytes) noexcept {
    T word;
    std::memcpy(&word, static_cast<const char*>(place) - bytes, sizeof word);
    return word;
}

const _Unwind_Exception* passing() noexcept { return static_cast<const _Unwind_Exception*>(ttmem_passing()); }

bool is_cpp(const _Unwind_Exception& exception) noexcept {
    const uint64_t maker = exception.exception_class & ~uint64_t{0xff};
    return maker == kOfGnu || maker == kOfLlvm;
}

}  // namespace

bool is_exception_passing() noexcept {
    const _Unwind_Exception* exception = passing();
    return exception != nullptr && is_cpp(*exception);
}

std::string_view words_of_passing() noexcept {
    const _Unwind_Exception* exception = passing();
    if (exception == nullptr || !is_cpp(*exception)) return {};
    const void* object = exception + 1;
    if ((exception->exception_class & 0xff) == kShares) object = word_before<const void*>(exception, kHeaderBytes);
    const auto* header = static_cast<const char*>(object) - sizeof(_Unwind_Exception);
    if (!is_std_exception(word_before<const Type*>(header, kHeaderBytes))) return {};
    using What = const char*(const void*);
    constexpr uint32_t kWhat = 2;  // behind its two destructors
    const auto* table = word_before<What* const*>(object, 0);
    const char* words = table[kWhat](object);
    return words == nullptr ? std::string_view() : std::string_view(words, strnlen(words, kWordsMost));
}

}  // namespace ttmem::hook
