/* Makes and drops buffers of the stock runtime in a tight loop, so that no interpreter stands between two clock readings.
 *
 * A MeshBuffer comes as a shared pointer of libstdc++: the object, then its count, whose table of functions holds at 2
 * how to end the object and at 3 how to give the count itself back.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <time.h>

typedef void create_function(void** result, const void* what, const void* how, void* mesh, uint64_t, uint64_t);
typedef void count_function(void* count);

static uint64_t spent_ns(void) {
    struct timespec spent;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return (uint64_t)spent.tv_sec * 1000000000u + (uint64_t)spent.tv_nsec;
}

static void drop(void* count) {
    count_function* const* const functions = *(count_function* const**)count;
    functions[2](count);
    functions[3](count);
}

uint64_t pairs_ns(create_function* create, const void* what, const void* how, void* mesh, uint32_t pair_count) {
    const uint64_t began = spent_ns();
    for (uint32_t i = 0; i < pair_count; ++i) {
        void* pointer[2];
        create(pointer, what, how, mesh, 0, 0);
        drop(pointer[1]);
    }
    return spent_ns() - began;
}

/* They live as long as the process. */
void keep(create_function* create, const void* what, const void* how, void* mesh, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        void* pointer[2];
        create(pointer, what, how, mesh, 0, 0);
    }
}
