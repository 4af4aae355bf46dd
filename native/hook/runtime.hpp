// The runtime this library is loaded beside: which of its functions we stand in for, which we call, and where the real
// ones are.
//
// A preloaded definition takes the place of the runtime's own for every call through its PLT, by any caller. The real
// functions are looked for once, at the first such call, in the library that the call comes from or that its maker
// uses: Python loads libtt_metal.so privately (RTLD_LOCAL), so the ordinary search would not find it, and a process may
// hold two copies of it.
//
//   RecordCopy: a *copy* is one loaded libtt_metal.so with all that was found in it; a *caller* is a range of addresses of a
//   loaded object together with the copy that it uses.
#pragma once

#include <atomic>
#include <cstdint>

#include "hook/programs/context.hpp"

namespace ttmem::hook {

struct Memory;

enum class Hook : uint16_t {
#define TTMEM_HOOK(name, mangled, gives) name,
#include "hooks.def"
#undef TTMEM_HOOK
    count
};

enum class Getter : uint16_t {
#define TTMEM_GETTER(name, mangled, loss) name,
#include "getters.def"
#undef TTMEM_GETTER
    count
};

inline constexpr uint32_t kHooks = static_cast<uint32_t>(Hook::count);
inline constexpr uint32_t kGetters = static_cast<uint32_t>(Getter::count);

/// One loaded runtime. Written by the thread that finds it, before anybody else can see it.
struct alignas(64) Copy {
    uintptr_t base;
    uint32_t number;  // never used twice in a process
    alignas(64) void* originals[kHooks];
    void* getters[kGetters];
};

/// The real function behind a hook for a call that returns to `caller`. From then on getter() answers for that copy on
/// this thread. Null only if the loader knows no real function at all.
void* original_from(Hook hook, const void* caller) noexcept;

/// An exported function of the runtime, or null where this release has none.
inline void* getter(Getter which) noexcept {
    const Copy* copy = at_hand.copy;
    return copy == nullptr ? nullptr : copy->getters[static_cast<uint32_t>(which)];
}

/// Forgets libraries that are gone, so that another one at the same address is looked at again. For rare hooks that a
/// runtime comes to before all others; cheap as long as nothing was unloaded.
void forget_unloaded() noexcept;

/// A range of addresses whose calls go to one copy. An end of 0: not in use. The end is set last when a place is taken, and is
/// nobody's from when it is given up: whoever takes it next has his beginning seen with no other end, but by a thread that
/// sleeps between two loads for as long as a library goes and another one comes.
struct Caller {
    std::atomic<uintptr_t> begin;
    std::atomic<uintptr_t> end;
    std::atomic<const Copy*> copy;
};
inline constexpr uintptr_t kNobodysEnd = 1;  // nothing is below it
inline constexpr uint32_t kCallersMost = 64;

/// What the hooks of all threads need at hand, in one line as well: that of the first callers.
///
///   word       writer                                  readers  order
///   memory     the first who needs it                  any      release / acquire
///   captures   the beginning and the end of a capture  any      release / acquire
///   callers    who finds one, under a flag             any      by their end
struct alignas(64) AtHandOfAll {
    std::atomic<Memory*> memory;     // all that we remember; null before there is anything
    std::atomic<uint32_t> captures;  // how many traces are being captured
    Caller callers[kCallersMost];
};
extern AtHandOfAll at_hand_of_all;

/// Whether there is anything that may end or change. It does so whether or not tracking is on meanwhile: what is told when it
/// is on again must be true.
inline bool remembers() noexcept { return at_hand_of_all.memory.load(std::memory_order_acquire) != nullptr; }

[[gnu::always_inline]] inline bool is_from(const Caller& known, const void* caller) noexcept {
    const auto address = reinterpret_cast<uintptr_t>(caller);
    return __builtin_expect(
        address < known.end.load(std::memory_order_acquire) && address >= known.begin.load(std::memory_order_relaxed),
        1);
}

/// Whether a call comes from the first caller, as nearly all do: that is the runtime itself.
[[gnu::always_inline]] inline bool is_usual(const void* caller) noexcept {
    return is_from(at_hand_of_all.callers[0], caller);
}

/// Where such a call goes to. For hooks that hold on to it or ask no getters: it does not become the current copy. Only to be
/// asked when is_usual() said yes: that sees the caller's end, which is set last. Asked before, it may be null, or the copy
/// that was here before, while another thread enters the first caller.
[[gnu::always_inline]] inline const Copy* usual_copy() noexcept {
    return at_hand_of_all.callers[0].copy.load(std::memory_order_relaxed);
}

template <class F>
[[gnu::always_inline]] inline F* original_in(const Copy* copy, Hook hook) noexcept {
    return reinterpret_cast<F*>(copy->originals[static_cast<uint32_t>(hook)]);
}

// Inlined into the hook itself, whose return address is meant. `usual` is the caller that is looked at first: what users
// of the runtime call comes from the second, which is most often the library of operations.
[[gnu::always_inline]] inline void* original(Hook hook, uint32_t usual = 0) noexcept {
    const void* caller = __builtin_return_address(0);
    const Caller& known = at_hand_of_all.callers[usual];
    if (!is_from(known, caller)) return original_from(hook, caller);
    const Copy* copy = known.copy.load(std::memory_order_relaxed);
    at_hand.copy = copy;
    return copy->originals[static_cast<uint32_t>(hook)];
}

template <class F>
[[gnu::always_inline]] inline F* original_as(Hook hook) noexcept {
    return reinterpret_cast<F*>(original(hook));
}

template <class F>
inline F* getter_as(Getter which) noexcept {
    return reinterpret_cast<F*>(getter(which));
}

/// What the getter says, or `otherwise` where this release has none.
template <class R, class... A>
inline R ask(Getter which, R otherwise, A... arguments) noexcept {
    auto* call = getter_as<R(A...)>(which);
    return call == nullptr ? otherwise : call(arguments...);
}

// The same of a copy that the caller holds: between two questions a compiler would look for the current one again.
template <class F>
inline F* getter_as(const Copy& copy, Getter which) noexcept {
    return reinterpret_cast<F*>(copy.getters[static_cast<uint32_t>(which)]);
}

template <class R, class... A>
inline R ask(const Copy& copy, Getter which, R otherwise, A... arguments) noexcept {
    auto* call = getter_as<R(A...)>(copy, which);
    return call == nullptr ? otherwise : call(arguments...);
}

}  // namespace ttmem::hook

/// Begins a definition that takes the place of the runtime's function; exports.cpp gives it the runtime's name.
///   TTMEM_INTERPOSE(track_allocate, void, (void* self, const void* buffer)) { ... }
#define TTMEM_INTERPOSE(name, result, arguments)                     \
    extern "C" __attribute__((used)) result hooked_##name arguments; \
    extern "C" result hooked_##name arguments

/// The same of a function that every operation of a host comes by: they lie side by side.
#define TTMEM_INTERPOSE_HOT(name, result, arguments)                      \
    extern "C" __attribute__((used, hot)) result hooked_##name arguments; \
    extern "C" result hooked_##name arguments
