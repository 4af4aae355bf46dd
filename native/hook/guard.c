/* The one frame of ours that an exception of the host passes and that has something to do then; see guard.h. */
#include "guard.h"

typedef ttmem_result (*six_arguments)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

struct watch {
    ttmem_on_throw on_throw;
    void* context;
    int has_returned;
};

static void look_after(struct watch* watch) {
    if (!watch->has_returned) watch->on_throw(watch->context);
}

ttmem_result ttmem_guarded_call(void* function, const uint64_t arguments[6], ttmem_on_throw on_throw, void* context) {
    union {
        void* object;
        six_arguments call;
    } real = {function};
    __attribute__((cleanup(look_after))) struct watch watch = {on_throw, context, 0};
    const ttmem_result result =
        real.call(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
    watch.has_returned = 1;
    return result;
}
