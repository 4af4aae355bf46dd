/* Calling a function that may throw, and learning that it did.
 *
 * The exception itself passes on to the host unharmed. This is C, compiled with -fexceptions: the frame that looks after
 * the call needs only the unwinder of libgcc_s, which the host uses too, and no C++ runtime of our own. */
#ifndef TTMEM_HOOK_GUARD_H
#define TTMEM_HOOK_GUARD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*ttmem_on_throw)(void* context);

/* While on_throw runs: the exception, as the unwinder knows it (refusals/passing.hpp reads it). */
__attribute__((visibility("hidden"))) const void* ttmem_passing(void);

/* A result as the calling convention returns it: one register, or a pair of them. */
typedef struct ttmem_result {
    uint64_t low;
    uint64_t high;
} ttmem_result;

/* Calls `function` with up to six integer or pointer arguments. If an exception leaves it, `on_throw(context)` runs while
 * the exception passes; it must not throw. */
__attribute__((visibility("hidden"))) ttmem_result ttmem_guarded_call(void* function, const uint64_t arguments[6],
                                                                      ttmem_on_throw on_throw, void* context);

typedef void (*ttmem_on_throw_of_pair)(void* first, void* second);

/* The same for two arguments, which on_throw gets too: nothing is stored before the call that is not needed after it. */
__attribute__((visibility("hidden"), hot)) uint64_t ttmem_guarded_pair(void* function, void* first, void* second,
                                                                       ttmem_on_throw_of_pair on_throw);

/* The same for three arguments, and something that on_throw gets. */
__attribute__((visibility("hidden"), hot)) void ttmem_guarded_three(void* function, void* first, void* second,
                                                                    int third, ttmem_on_throw on_throw, void* context);

#ifdef __cplusplus
}
#endif

#endif
