/* The frames of ours that an exception of the host passes and that have something to do then; see guard.h. */
#include "guard.h"

#include <unwind.h>

static __thread __attribute__((tls_model("initial-exec"))) struct _Unwind_Exception* passing;

const void* ttmem_passing(void) { return passing; }

/* What the unwinder asks at each of these frames (the linker puts it before the real one, --wrap): it is told what passes,
 * which a cleanup in C is not. */
typedef _Unwind_Reason_Code personality(int, _Unwind_Action, _Unwind_Exception_Class, struct _Unwind_Exception*,
                                        struct _Unwind_Context*);
personality __real___gcc_personality_v0;
__attribute__((visibility("hidden"))) personality __wrap___gcc_personality_v0;

_Unwind_Reason_Code __wrap___gcc_personality_v0(int version, _Unwind_Action actions, _Unwind_Exception_Class maker,
                                                struct _Unwind_Exception* exception, struct _Unwind_Context* context) {
    if (actions & _UA_CLEANUP_PHASE) passing = exception;
    return __real___gcc_personality_v0(version, actions, maker, exception, context);
}

typedef ttmem_result (*six_arguments)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

struct watch {
    ttmem_on_throw on_throw;
    void* context;
    int has_returned;
};

static inline void look_after(struct watch* watch) {
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

struct pair_watch {
    ttmem_on_throw_of_pair on_throw;
    void* first;
    void* second;
    int has_returned;
};

static inline void look_after_pair(struct pair_watch* watch) {
    if (!watch->has_returned) watch->on_throw(watch->first, watch->second);
}

uint64_t ttmem_guarded_pair(void* function, void* first, void* second, ttmem_on_throw_of_pair on_throw) {
    union {
        void* object;
        uint64_t (*call)(void*, void*);
    } real = {function};
    __attribute__((cleanup(look_after_pair))) struct pair_watch watch = {on_throw, first, second, 0};
    const uint64_t result = real.call(first, second);
    watch.has_returned = 1;
    return result;
}

void ttmem_guarded_three(void* function, void* first, void* second, int third, ttmem_on_throw on_throw, void* context) {
    union {
        void* object;
        void (*call)(void*, void*, int);
    } real = {function};
    __attribute__((cleanup(look_after))) struct watch watch = {on_throw, context, 0};
    real.call(first, second, third);
    watch.has_returned = 1;
}
