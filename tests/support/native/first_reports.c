/* Makes each kind of call as the first report of a process, where there is little stack, and prints what it took.
 *
 *   first_reports HOW WHEN    HOW: handler (on a signal stack of 8 KiB), thread (a stack of 16 KiB), measured (256 KiB)
 *                             WHEN: first, forked (by a process that has reported), later (after another report)
 *
 * One process per kind of call; one line each: KIND bytes of stack (measured only), errno afterwards, its answer.
 * A line that ends in `signal N` is a process that was killed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ttmem/client.h"

enum { HANDLER_BYTES = 8 << 10, THREAD_BYTES = 16 << 10, MEASURED_BYTES = 256 << 10, PAINT = 0xA5, ERRNO = 1234 };

static ttmem_device device = {.unique_id = 7, .index = 0, .arch = "wormhole_b0", .board = "n300"};
static ttmem_buffer buffer = {.id = 1, .reserved_bytes = 4096, .requested_bytes = 4000};
static ttmem_buffer by_handle = {.id = 2, .reserved_bytes = 4096, .options = TTMEM_BY_HANDLE};
static ttmem_circular_buffer cb = {.id = 3, .size_per_core_bytes = 1024, .core_count = 4};
static ttmem_kernel kernel = {.id = 4, .binary_bytes = 100, .core_count = 4, .kind = TTMEM_KERNEL_APPLICATION};
static ttmem_ring_state ring = {.ring_bytes = 70 << 10, .core_type = TTMEM_TENSIX};
static ttmem_cache_answer cache = {.size_bytes = 10};
static uint16_t chips[200];

static uint64_t device_open(void) { return ttmem_device_open(&device); }
static uint64_t mesh_open(void) { return ttmem_mesh_open(9, 1, 200, chips, 200); }
static uint64_t target_close(void) { return ttmem_device_close(1), 1; }
static uint64_t buffer_alloc(void) { return ttmem_buffer_alloc(&buffer); }
static uint64_t buffer_by_handle(void) { return ttmem_buffer_alloc(&by_handle); }
static uint64_t cb_alloc(void) { return ttmem_cb_alloc(&cb); }
static uint64_t kernel_load(void) { return ttmem_kernel_load(&kernel); }
static uint64_t free_handle(void) { return ttmem_free(1ull << 40), 1; }
static uint64_t free_id(void) { return ttmem_free_id(0, TTMEM_BUFFER, 1, TTMEM_DRAM, 4096), 1; }
static uint64_t kernel_unload(void) { return ttmem_kernel_unload(0, TTMEM_KERNEL_APPLICATION, 4), 1; }
static uint64_t binary_status(void) { return ttmem_binary_status(0, 5, TTMEM_COMMITTED, 512), 1; }
static uint64_t binaries_placed(void) { return ttmem_binaries_placed(0, 5, TTMEM_COMMITTED, 512, 64), 1; }
static uint64_t program_end(void) { return ttmem_program_end(0, 5), 1; }
static uint64_t launch(void) { return ttmem_launch(0, 5), 1; }
static uint64_t out_of_memory(void) { return ttmem_out_of_memory(0, TTMEM_L1, 100, 50, 20), 1; }
static uint64_t clash(void) { return ttmem_clash(0, 5, 4096, 2048), 1; }
static uint64_t ring_state(void) { return ttmem_ring(&ring), 1; }
static uint64_t cache_answer(void) { return ttmem_cache(&cache), 1; }
static uint64_t intern(void) { return ttmem_intern("a text", 6); }
static uint64_t phase(void) { return ttmem_phase_end(ttmem_phase_begin(0)), 1; }
static uint64_t reset_peaks(void) { return ttmem_reset_peaks(0), 1; }
static uint64_t label(void) { return ttmem_label("small"), 1; }
static uint64_t journal_path(void) { return ttmem_journal_path() != NULL; }
static uint64_t enable(void) { return (uint64_t)ttmem_enable(NULL); }
static uint64_t disable(void) { return ttmem_disable(), 1; }

static const struct {
    const char* name;
    uint64_t (*make)(void);
} kinds[] = {
    {"device_open", device_open},
    {"mesh_open", mesh_open},
    {"target_close", target_close},
    {"buffer_alloc", buffer_alloc},
    {"buffer_by_handle", buffer_by_handle},
    {"cb_alloc", cb_alloc},
    {"kernel_load", kernel_load},
    {"free", free_handle},
    {"free_id", free_id},
    {"kernel_unload", kernel_unload},
    {"binary_status", binary_status},
    {"binaries_placed", binaries_placed},
    {"program_end", program_end},
    {"launch", launch},
    {"out_of_memory", out_of_memory},
    {"clash", clash},
    {"ring", ring_state},
    {"cache", cache_answer},
    {"intern", intern},
    {"phase", phase},
    {"reset_peaks", reset_peaks},
    {"label", label},
    {"journal_path", journal_path},
    {"enable", enable},
    {"disable", disable},
};

static uint64_t (*volatile wanted)(void);
static volatile uint64_t answer;
static volatile int errno_after;
static volatile long used;
static char* stack;
static size_t stack_bytes;

static void call(void) {
    errno = ERRNO;
    answer = wanted();
    errno_after = errno;
}

static void handle(int number) {
    (void)number;
    call();
}

static void* run(void* nothing) {
    call();
    return nothing;
}

/* How far below this function's own frame the call came: what was painted there before tells. */
static void* measure(void* nothing) {
    char* here = __builtin_frame_address(0);
    errno = 0; /* the C library's own functions are bound by now */
    memset(stack, PAINT, (size_t)(here - 256 - stack));
    call();
    const char* lowest = stack;
    while ((unsigned char)*lowest == PAINT) ++lowest;
    used = here - lowest;
    return nothing;
}

static void make_stack(size_t bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char* base = mmap(NULL, bytes + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED || mprotect(base + page, bytes, PROT_READ | PROT_WRITE) != 0) abort();
    stack = base + page;
    stack_bytes = bytes;
}

static void in_handler(void) {
    make_stack(HANDLER_BYTES);
    const stack_t small = {.ss_sp = stack, .ss_size = stack_bytes};
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    if (sigaltstack(&small, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0 || raise(SIGUSR1) != 0) abort();
}

static void in_thread(size_t bytes, void* (*body)(void*)) {
    pthread_attr_t attributes;
    pthread_t thread;
    make_stack(bytes);
    pthread_attr_init(&attributes);
    if (pthread_attr_setstack(&attributes, stack, stack_bytes) != 0) abort();
    if (pthread_create(&thread, &attributes, body, NULL) != 0 || pthread_join(thread, NULL) != 0) abort();
}

static void call_there(const char* how) {
    if (strcmp(how, "handler") == 0) in_handler();
    if (strcmp(how, "thread") == 0) in_thread(THREAD_BYTES, run);
    if (strcmp(how, "measured") == 0) in_thread(MEASURED_BYTES, measure);
}

static void print_one(const char* how, const char* name) {
    call_there(how);
    printf("%s %ld %d %d\n", name, used, errno_after, answer != 0);
    fflush(stdout);
}

static int status_of(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
    }
    return status;
}

static void live(const char* how, const char* when, const char* name) {
    if (strcmp(when, "first") != 0) ttmem_launch(0, 1);
    if (strcmp(when, "forked") == 0) {
        const pid_t child = fork();
        if (child != 0) {
            const int status = status_of(child);
            if (WIFSIGNALED(status)) raise(WTERMSIG(status));
            return;
        }
    }
    print_one(how, name);
}

int main(int count, char** words) {
    if (count < 3) return 2;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            wanted = kinds[i].make;
            live(words[1], words[2], kinds[i].name);
            _exit(0);
        }
        const int status = status_of(child);
        if (WIFSIGNALED(status)) printf("%s signal %d\n", kinds[i].name, WTERMSIG(status));
        fflush(stdout);
    }
    return 0;
}
