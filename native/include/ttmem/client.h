/* ttmem/client.h: report device memory from any C or C++ program.
 *
 * Every call here is safe from any thread and from signal handlers, makes no system call after the first,
 * never blocks, never throws and never fails the host: what cannot be recorded is counted, and the
 * count is shown. With tracking off a call is one load and one branch, inlined below. A call takes at most 2 KiB of
 * the caller's stack and leaves errno alone.
 *
 * The first report of a process, and of a forked child, makes its journal: up to tens of milliseconds, on a stack of its own, in
 * which the thread's signals wait. Besides system calls it then uses getenv(): a handler must not make it while the
 * program changes its environment. The loader is asked when this library is loaded, not later. ttmem_enable() and
 * ttmem_disable() are meant for ordinary code.
 *
 *   ttmem_device chip = {.unique_id = 0x1a2b, .index = 0, .grid_x = 8, .grid_y = 8};
 *   uint16_t target = ttmem_device_open(&chip);
 *   ttmem_buffer b = {.target = target, .id = 7, .reserved_bytes = 4096, .requested_bytes = 4000};
 *   ttmem_handle h = ttmem_buffer_alloc(&b);
 *   ttmem_free(h);                                     (or ttmem_free_id(target, TTMEM_BUFFER, 7, 0))
 *
 * RecordCopy: a *target* is one chip, or one mesh of chips; on a mesh one call stands for all its chips and the
 * bytes are those of one chip. A *handle* is what an allocation returns; freeing by it is the fast way.
 * Tracking is on when TTMEM=1 or TT_ALLOC_TRACKING_ENABLED=1 at the first call, or after ttmem_enable(). TTMEM is off when
 * it is empty, 0, off, false or no (in any case), and on for every other word; TT_ALLOC_TRACKING_ENABLED is on for 1 alone,
 * and asked only where TTMEM is not set or empty. A program that runs with more rights than its caller (setuid, setgid,
 * file capabilities) ignores both, and TTMEM_DIR and all the others too: there only ttmem_enable() turns tracking on.
 */
#ifndef TTMEM_CLIENT_H
#define TTMEM_CLIENT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TTMEM_DATA __attribute__((visibility("default")))
/* A call goes to an address that was found when the program was loaded. Else the first call would ask the loader, which
 * takes kilobytes of the caller's stack, in a signal handler too. */
#if defined(__has_attribute)
#if __has_attribute(noplt)
#define TTMEM_API TTMEM_DATA __attribute__((noplt))
#endif
#endif
#ifndef TTMEM_API
#define TTMEM_API TTMEM_DATA
#endif

/* What an allocation is. Part of its key: (process, target, kind, id). */
enum ttmem_kind {
    TTMEM_KIND_UNKNOWN = 0,
    TTMEM_BUFFER = 1,
    TTMEM_CIRCULAR_BUFFER = 2,
    TTMEM_DATAFLOW_BUFFER = 3,
    TTMEM_SCRATCHPAD = 4,
    TTMEM_KERNEL_APPLICATION = 5,
    TTMEM_KERNEL_FABRIC = 6,
    TTMEM_KERNEL_DISPATCH = 7,
    TTMEM_PROGRAM_BINARY = 8,
    TTMEM_KERNEL_UNKNOWN = 9,
    TTMEM_TRACE_BUFFER = 10, /* a captured trace in plain DRAM, where the device has no trace region */
    TTMEM_KIND_COUNT = 11
};

/* Programs are named by the runtime's own numbers. 0 means unknown, so the program whose number is 0 is reported as this. */
#define TTMEM_PROGRAM_ZERO 0xffffffffffffull

/* Where its bytes live. */
enum ttmem_pool {
    TTMEM_DRAM = 0,
    TTMEM_TRACE = 1,
    TTMEM_L1 = 2,
    TTMEM_L1_SMALL = 3,
    TTMEM_CB = 4,
    TTMEM_KERNEL = 5,
    TTMEM_ETH = 6,
    TTMEM_DISPATCH = 7,
    TTMEM_HOST = 8,
    TTMEM_POOL_UNKNOWN = 9,
    TTMEM_POOL_COUNT = 10
};

/* tt-metal's BufferType, as its callers have it. */
enum ttmem_buffer_type {
    TTMEM_BUFFER_DRAM = 0,
    TTMEM_BUFFER_L1 = 1,
    TTMEM_BUFFER_SYSTEM_MEMORY = 2,
    TTMEM_BUFFER_L1_SMALL = 3,
    TTMEM_BUFFER_TRACE = 4
};

/* How a buffer is spread over its banks: 1 + tt-metal's TensorMemoryLayout, 0 unknown. */
enum ttmem_layout {
    TTMEM_LAYOUT_UNKNOWN = 0,
    TTMEM_INTERLEAVED = 1,
    TTMEM_SINGLE_BANK = 2, /* of older releases */
    TTMEM_HEIGHT_SHARDED = 3,
    TTMEM_WIDTH_SHARDED = 4,
    TTMEM_BLOCK_SHARDED = 5,
    TTMEM_ND_SHARDED = 6,
    TTMEM_LAYOUT_COUNT = 7
};

/* tt-metal's ProgramBinaryStatus. */
enum ttmem_binary_status { TTMEM_NOT_SENT = 0, TTMEM_IN_FLIGHT = 1, TTMEM_COMMITTED = 2 };

/* tt-metal's programmable core types, after 0 for unknown. */
enum ttmem_core_type {
    TTMEM_CORE_UNKNOWN = 0,
    TTMEM_TENSIX = 1,
    TTMEM_ACTIVE_ETH = 2,
    TTMEM_IDLE_ETH = 3,
    TTMEM_DRAM_CORE = 4,
    TTMEM_CORE_TYPE_COUNT = 5
};

/* How the type of a kernel was found, most trusted first. */
enum ttmem_found_by {
    TTMEM_FOUND_UNKNOWN = 0,
    TTMEM_FOUND_OWNER = 1,
    TTMEM_FOUND_ARGUMENT = 2,
    TTMEM_FOUND_PATH = 3,
    TTMEM_FOUND_STACK = 4,
    TTMEM_FOUND_SIZE = 5
};

/* Why a launch waited before it could write into the kernel ring. */
enum ttmem_stall {
    TTMEM_STALL_NONE = 0,
    TTMEM_STALL_SPACE = 1,
    TTMEM_STALL_ENTRIES = 2,
    TTMEM_STALL_LAUNCH_SLOTS = 3,
    TTMEM_STALL_IN_FLIGHT = 4,
    TTMEM_STALL_ORDER = 5,
    TTMEM_STALL_FULL = 6,
    TTMEM_STALL_COUNT = 7
};

/* Where something is kept so that it need not be made, read or sent again, and what came of asking for it. */
enum ttmem_cache {
    TTMEM_CACHE_JIT = 0,
    TTMEM_CACHE_PROGRAM = 1,
    TTMEM_CACHE_PREFETCHER = 2,
    TTMEM_CACHE_TRACE = 3,
    TTMEM_CACHE_IMAGE = 4,
    TTMEM_CACHE_COUNT = 5
};
enum ttmem_outcome {
    TTMEM_HIT = 0,
    TTMEM_MISS = 1,
    TTMEM_EVICTED = 2,
    TTMEM_BYPASSED = 3,
    TTMEM_EMPTIED = 4,
    TTMEM_OUTCOME_COUNT = 5
};

/* Options of an allocation. */
enum ttmem_option {
    TTMEM_VIEW = 1,       /* the memory belongs to another allocation: listed, charged 0 */
    TTMEM_BY_HANDLE = 2,  /* will only be freed by its handle: not entered in the index by id */
    TTMEM_HOLDS_TRACE = 4 /* of a buffer in DRAM: its kind is trace_buffer; it is freed by its handle */
};

typedef uint64_t ttmem_handle; /* 0: nothing was recorded; freeing 0 is allowed and does nothing */

typedef struct ttmem_device {
    uint64_t unique_id;                        /* the chip's own id: equal in every process that opens it */
    int32_t index;                             /* logical index in this process, -1 unknown */
    uint32_t kernel_ring_bytes;                /* kernel-config ring per worker core, 0 unknown */
    uint16_t grid_x, grid_y;                   /* worker cores */
    uint16_t dram_banks, l1_banks;             /* 0 unknown */
    uint64_t capacity_bytes[TTMEM_POOL_COUNT]; /* all banks together, 0 unknown */
    const char* arch;                          /* "wormhole_b0", "blackhole"; NULL unknown */
    const char* board;                         /* "n300"; NULL unknown */
} ttmem_device;

typedef struct ttmem_buffer {
    uint64_t id;
    uint64_t address; /* in each bank; one of more than 48 bits is not kept */
    uint64_t requested_bytes;
    uint64_t reserved_bytes; /* what all banks give up; 0: same as requested */
    uint64_t per_bank_bytes; /* 0 unknown */
    uint64_t page_bytes;     /* 0 unknown; from 2^27 on it is kept only where it divides the requested bytes */
    uint32_t site;           /* from ttmem_intern, 0 unknown: then the source of sites is asked, if there is one */
    uint16_t target;
    uint8_t type;    /* ttmem_buffer_type */
    uint8_t options; /* ttmem_option bits */
    uint8_t layout;  /* ttmem_layout */
} ttmem_buffer;

/* One address of a buffer that is allocated by core, and the cores it has there. */
typedef struct ttmem_core_part {
    uint32_t address;
    uint32_t core_set; /* from ttmem_intern, as that of a circular buffer; 0 unknown */
    uint16_t core_count;
} ttmem_core_part;

/* A buffer that only some cores give memory for, each where it has room. It is listed once for each address and charged
 * bytes x cores; freeing it, by handle or id, ends all its parts. */
typedef struct ttmem_core_buffer {
    uint64_t id;
    uint64_t requested_bytes;     /* 0: what its cores give up */
    uint64_t size_per_core_bytes; /* below 2^27 */
    const ttmem_core_part* parts;
    uint32_t part_count; /* at least 1 */
    uint32_t site;       /* as that of a buffer */
    uint16_t target;     /* the chip; a mesh if each of its chips has it at the same addresses */
    uint8_t type;        /* ttmem_buffer_type */
    uint8_t options;     /* ttmem_option bits */
    uint8_t layout;      /* ttmem_layout */
} ttmem_core_buffer;

typedef struct ttmem_circular_buffer {
    uint64_t id;
    uint64_t program; /* owner, 0 unknown; one of more than 48 bits is not kept */
    uint32_t address;
    uint32_t core_set; /* from ttmem_intern: "0,0-7,7;0,8-3,8", rectangles with their corners; 0 unknown */
    uint64_t size_per_core_bytes;
    uint16_t core_count;
    uint16_t target;
    uint8_t kind; /* 0: circular_buffer; or dataflow_buffer, scratchpad */
    uint8_t options;
    uint32_t site;
} ttmem_circular_buffer;

typedef struct ttmem_kernel {
    uint64_t id;
    uint64_t program;                  /* owner, 0 unknown; one of more than 48 bits is not kept */
    uint64_t binary_bytes;             /* one image */
    uint64_t exact_bytes;              /* over all cores and kernel groups; 0 unknown */
    uint64_t binary_times_cores_bytes; /* 0: binary_bytes x core_count */
    uint32_t site; /* from ttmem_intern: its name; behind a zero byte, if they are known, the packed bytes of its
                                 binaries, one for each processor: "eltwise_binary\0" "1252,860,1428" */
    uint16_t core_count;
    uint16_t target;
    uint8_t kind;      /* ttmem_kind: a kernel_... */
    uint8_t options;   /* ttmem_option bits */
    uint8_t pool;      /* TTMEM_KERNEL, TTMEM_ETH or TTMEM_DISPATCH; 0: by kind */
    uint8_t core_type; /* ttmem_core_type */
    uint8_t found_by;  /* ttmem_found_by */
} ttmem_kernel;

/* The kernel ring of each core of a type, after a launch. */
typedef struct ttmem_ring_state {
    uint64_t live_bytes;    /* of programs that may still run */
    uint64_t retired_bytes; /* finished, but not overwritten yet */
    uint64_t ring_bytes;    /* its size, 0 unknown */
    uint32_t entry_count;   /* live ones */
    uint16_t target;
    uint8_t core_type; /* ttmem_core_type */
    uint8_t stall;     /* ttmem_stall: why this launch waited */
    uint8_t is_aside;  /* 1: nothing was launched there; the ring changed otherwise, by a replayed trace or a wait */
} ttmem_ring_state;

/* One answer of a cache, and what it holds afterwards. */
typedef struct ttmem_cache_answer {
    uint64_t size_bytes;   /* what was asked for */
    uint64_t held_bytes;   /* in all */
    uint64_t shared_bytes; /* kept more than once, which keeping each once would save */
    uint32_t entry_count;
    uint16_t target;
    uint8_t cache;   /* ttmem_cache */
    uint8_t outcome; /* ttmem_outcome */
} ttmem_cache_answer;

/* Circular buffers of a program that would reach into an L1 buffer: the runtime refuses the launch. */
typedef struct ttmem_cb_clash {
    uint64_t program;        /* 0 unknown */
    uint64_t cb_end_address; /* where its circular buffers end */
    uint64_t buffer_address; /* the lowest L1 buffer, below that end */
    uint16_t target;
} ttmem_cb_clash;

/* What is kept of the moments at which something was refused. */
enum ttmem_incident_kind {
    TTMEM_INCIDENT_NONE = 0,
    TTMEM_INCIDENT_OUT_OF_MEMORY = 1,
    TTMEM_INCIDENT_CLASH = 2,         /* circular buffers would reach into an L1 buffer */
    TTMEM_INCIDENT_UNSAFE_REPLAY = 3, /* a trace is replayed while a buffer lies where it writes */
    TTMEM_INCIDENT_KIND_COUNT = 4
};
enum ttmem_incident_option {
    TTMEM_FIGURES_READ_LATER = 1, /* figures were asked for a moment after the refusal */
    TTMEM_FIGURES_OF_TEXT = 4,    /* figures are those of `text` */
    TTMEM_PER_CORE = 8,           /* asked of single cores: per_bank is bytes of each core, bank_count how many cores */
    TTMEM_MAY_OVERLAP = 16        /* of an unsafe replay: what the trace writes is known roughly */
};
#define TTMEM_UNKNOWN_FIGURE (~0ull)

/* An incident, reported by the thread to which it happened. Figures that are not known are TTMEM_UNKNOWN_FIGURE; ids, addresses
 * and counts that are not known are 0. What is alive on the target is copied beside it. Memory that was refused in lockstep on
 * some cores (without TTMEM_PER_CORE, with a core_set) was that of a sub-device with L1 of its own; its buffers are reported by
 * core, with one part. */
typedef struct ttmem_incident {
    uint32_t struct_bytes; /* sizeof(ttmem_incident): fields are only ever appended */
    uint16_t target;
    uint8_t kind;                                      /* ttmem_incident_kind */
    uint8_t pool;                                      /* ttmem_pool */
    uint64_t requested_bytes, per_bank_bytes;          /* asked for: in all banks, of each bank */
    uint64_t free_bytes, largest_free_bytes;           /* in all banks */
    uint64_t bank_free_bytes, bank_largest_free_bytes; /* of one bank */
    uint32_t bank_count;
    uint32_t core_set;                               /* from ttmem_intern, 0 unknown */
    uint64_t space_begin_address, space_end_address; /* of the allocator that refused, in each bank; both 0 unknown */
    uint64_t program;
    uint64_t cb_end_address, buffer_address; /* of a clash; also of memory refused in L1, where they are known */
    uint64_t trace, address;                 /* of an unsafe replay */
    uint32_t site, other_site; /* 0: the source of sites is asked; of an unsafe replay the other is who captured */
    uint32_t options;          /* ttmem_incident_option bits */
    uint32_t text_bytes;
    const char* text; /* what the runtime said; its first 512 bytes are kept */
} ttmem_incident;

typedef enum ttmem_node {
    TTMEM_FRAME = 1,            /* name: the function; file and line */
    TTMEM_TENSOR = 2,           /* name: "1x1x32x14336 bfloat16 tile" */
    TTMEM_OPERATION = 3,        /* name: the user's, "ttnn.matmul" */
    TTMEM_DEVICE_OPERATION = 4, /* name: "MatmulDeviceOperation" */
} ttmem_node;

/* Names the place in the caller's program that asks for memory now; 0 if there is nothing to say. */
typedef uint32_t (*ttmem_site_source)(void);

/* 0 = off. Anything else: call in and see (the first call decides by the environment). */
extern TTMEM_DATA int ttmem_tracking;
#define TTMEM_ON __atomic_load_n(&ttmem_tracking, __ATOMIC_RELAXED)

/* Turns tracking on or off from code. `directory` NULL: $TTMEM_DIR or the default. Returns 1 if tracking is on afterwards. */
TTMEM_API int ttmem_enable(const char* directory);
TTMEM_API void ttmem_disable(void);
/* Who is asked for the site of buffers reported without one; NULL: none. One per process, whichever copy sets it. It is
 * called by the reporting thread, inside the report, and must neither block nor throw. */
TTMEM_API void ttmem_set_site_source(ttmem_site_source source);
/* Makes the Python stacks of reporting threads the source of sites (1), or none (0). The interpreter's lock is never taken;
 * frames of ttmem, ttnn, torch and pytest are left out. */
TTMEM_API void ttmem_python_sites(int is_on);
/* The site of the caller's Python stack, as a buffer would get it; 0: there is none. */
TTMEM_API uint32_t ttmem_python_site_on(void);
/* The path of this process's journal, or "" when there is none. */
TTMEM_API const char* ttmem_journal_path(void);

/* Names a target. Opening the same unique_id (or mesh id) again returns the same target. 0 = could not be named. */
TTMEM_API uint16_t ttmem_device_open_on(const ttmem_device* device);
TTMEM_API uint16_t ttmem_mesh_open_on(uint64_t mesh_id, uint16_t rows, uint16_t columns, const uint16_t* chips,
                                      uint32_t chip_count);
/* Ends everything that is alive on the target; frees that come later are no finding. */
TTMEM_API void ttmem_target_close_on(uint16_t target);

TTMEM_API ttmem_handle ttmem_buffer_alloc_on(const ttmem_buffer* buffer);
TTMEM_API ttmem_handle ttmem_core_buffer_alloc_on(const ttmem_core_buffer* buffer);
TTMEM_API void ttmem_unreported_on(uint64_t count);
TTMEM_API ttmem_handle ttmem_cb_alloc_on(const ttmem_circular_buffer* cb);
TTMEM_API ttmem_handle ttmem_kernel_load_on(const ttmem_kernel* kernel);
TTMEM_API void ttmem_free_on(ttmem_handle handle);
TTMEM_API void ttmem_free_id_on(uint16_t target, uint8_t kind, uint64_t id, uint8_t pool, uint64_t bytes);
TTMEM_API void ttmem_binary_status_on(uint16_t target, uint64_t program, uint8_t status, uint64_t bytes);
TTMEM_API void ttmem_binaries_placed_on(uint16_t target, uint64_t program, uint8_t status, uint64_t bytes,
                                        uint64_t address);
TTMEM_API void ttmem_launch_on(uint16_t target, uint64_t program);
TTMEM_API void ttmem_program_operation_on(uint16_t target, uint64_t program, uint32_t site);
TTMEM_API void ttmem_out_of_memory_on(uint16_t target, uint8_t pool, uint64_t requested_bytes, uint64_t free_bytes,
                                      uint64_t largest_free_bytes);
TTMEM_API void ttmem_clash_on(const ttmem_cb_clash* clash);
TTMEM_API void ttmem_incident_on(const ttmem_incident* incident);
TTMEM_API void ttmem_ring_on(const ttmem_ring_state* state);
TTMEM_API void ttmem_cache_on(const ttmem_cache_answer* answer);
TTMEM_API uint32_t ttmem_stack_node_on(uint32_t parent, uint8_t kind, const char* name, const char* file,
                                       uint32_t line);
TTMEM_API uint32_t ttmem_intern_on(const char* text, uint32_t length);
TTMEM_API uint32_t ttmem_phase_begin_on(uint32_t name);
TTMEM_API void ttmem_phase_end_on(uint32_t phase);
TTMEM_API void ttmem_reset_peaks_on(uint16_t target);
TTMEM_API void ttmem_label_on(const char* text);
TTMEM_API void ttmem_trace_begin_on(uint16_t target, uint64_t trace, uint32_t site);
TTMEM_API void ttmem_trace_program_on(uint16_t target, uint64_t trace, uint64_t program);
TTMEM_API void ttmem_trace_end_on(uint16_t target, uint64_t trace, uint64_t bytes);
TTMEM_API void ttmem_trace_replay_on(uint16_t target, uint64_t trace);
TTMEM_API void ttmem_trace_release_on(uint16_t target, uint64_t trace);

static inline uint16_t ttmem_device_open(const ttmem_device* device) {
    return TTMEM_ON ? ttmem_device_open_on(device) : (uint16_t)0;
}
static inline void ttmem_device_close(uint16_t target) {
    if (TTMEM_ON) ttmem_target_close_on(target);
}
static inline uint16_t ttmem_mesh_open(uint64_t mesh_id, uint16_t rows, uint16_t columns, const uint16_t* chips,
                                       uint32_t chip_count) {
    return TTMEM_ON ? ttmem_mesh_open_on(mesh_id, rows, columns, chips, chip_count) : (uint16_t)0;
}
static inline void ttmem_mesh_close(uint16_t target) {
    if (TTMEM_ON) ttmem_target_close_on(target);
}
static inline ttmem_handle ttmem_buffer_alloc(const ttmem_buffer* buffer) {
    return TTMEM_ON ? ttmem_buffer_alloc_on(buffer) : 0;
}
static inline ttmem_handle ttmem_core_buffer_alloc(const ttmem_core_buffer* buffer) {
    return TTMEM_ON ? ttmem_core_buffer_alloc_on(buffer) : 0;
}
/* Allocations that were seen but cannot be reported, because their device is unknown: a finding, and the
 * figures of this process are shown as incomplete. */
static inline void ttmem_unreported(uint64_t count) {
    if (TTMEM_ON) ttmem_unreported_on(count);
}
static inline ttmem_handle ttmem_cb_alloc(const ttmem_circular_buffer* cb) {
    return TTMEM_ON ? ttmem_cb_alloc_on(cb) : 0;
}
static inline ttmem_handle ttmem_kernel_load(const ttmem_kernel* kernel) {
    return TTMEM_ON ? ttmem_kernel_load_on(kernel) : 0;
}
static inline void ttmem_free(ttmem_handle handle) {
    if (TTMEM_ON) ttmem_free_on(handle);
}
/* Frees by id. `pool` and `bytes` (0 unknown) keep the counters right should the live table be full. */
static inline void ttmem_free_id(uint16_t target, uint8_t kind, uint64_t id, uint8_t pool, uint64_t bytes) {
    if (TTMEM_ON) ttmem_free_id_on(target, kind, id, pool, bytes);
}
static inline void ttmem_kernel_unload(uint16_t target, uint8_t kind, uint64_t id) {
    const int is_known = kind >= TTMEM_KERNEL_APPLICATION && kind <= TTMEM_KERNEL_DISPATCH;
    if (TTMEM_ON) ttmem_free_id_on(target, is_known ? kind : (uint8_t)TTMEM_KERNEL_UNKNOWN, id, TTMEM_POOL_UNKNOWN, 0);
}
/* A program's binaries: status changes, and its bytes in DRAM (0 unknown). End it with ttmem_program_end. */
static inline void ttmem_binary_status(uint16_t target, uint64_t program, uint8_t status, uint64_t bytes) {
    if (TTMEM_ON) ttmem_binary_status_on(target, program, status, bytes);
}
/* The same of binaries that lie at one address of every DRAM bank (below 2^32; 0 unknown). */
static inline void ttmem_binaries_placed(uint16_t target, uint64_t program, uint8_t status, uint64_t bytes,
                                         uint64_t address) {
    if (TTMEM_ON) ttmem_binaries_placed_on(target, program, status, bytes, address);
}
static inline void ttmem_program_end(uint16_t target, uint64_t program) {
    if (TTMEM_ON) ttmem_free_id_on(target, TTMEM_PROGRAM_BINARY, program, TTMEM_DRAM, 0);
}
/* What a program does: the site of a TTMEM_OPERATION or TTMEM_DEVICE_OPERATION (ttmem_stack_node). Once is enough. */
static inline void ttmem_program_operation(uint16_t target, uint64_t program, uint32_t site) {
    if (TTMEM_ON) ttmem_program_operation_on(target, program, site);
}
/* Counted per target and program, never charged. */
static inline void ttmem_launch(uint16_t target, uint64_t program) {
    if (TTMEM_ON) ttmem_launch_on(target, program);
}
static inline void ttmem_out_of_memory(uint16_t target, uint8_t pool, uint64_t requested_bytes, uint64_t free_bytes,
                                       uint64_t largest_free_bytes) {
    if (TTMEM_ON) ttmem_out_of_memory_on(target, pool, requested_bytes, free_bytes, largest_free_bytes);
}
/* Counted per target, and the newest are listed, as when memory runs out. */
static inline void ttmem_clash(uint16_t target, uint64_t program, uint64_t cb_end_address, uint64_t buffer_address) {
    if (TTMEM_ON) {
        const ttmem_cb_clash clash = {program, cb_end_address, buffer_address, target};
        ttmem_clash_on(&clash);
    }
}
/* Numbered within the process, counted, and kept with a copy of what is alive there: the first two and the last six. The same
 * again by the same thread within a second is counted with the one before. Calls for memory that ran out and for clashes
 * are incidents, too, of which less is reported; an incident of these two kinds is counted as they are. */
static inline void ttmem_report_incident(const ttmem_incident* incident) {
    if (TTMEM_ON) ttmem_incident_on(incident);
}
/* What a launch left of the kernel ring; stalls are counted by reason. */
static inline void ttmem_ring(const ttmem_ring_state* state) {
    if (TTMEM_ON) ttmem_ring_on(state);
}
/* Counted per target, cache and outcome. */
static inline void ttmem_cache(const ttmem_cache_answer* answer) {
    if (TTMEM_ON) ttmem_cache_on(answer);
}
/* A 4-byte name for a text (site, phase, core set), valid in this process; 0 when there is no room. */
static inline uint32_t ttmem_intern(const char* text, uint32_t length) {
    return TTMEM_ON ? ttmem_intern_on(text, length) : 0;
}
/* A site that is a node of a tree: a frame (name: the function), a tensor or an operation, below `parent` (such a site, or 0).
 * The same arguments give the same site; one of "other" when there is no room. Valid in this process: a forked child makes
 * its own. */
static inline uint32_t ttmem_stack_node(uint32_t parent, uint8_t kind, const char* name, const char* file,
                                        uint32_t line) {
    return TTMEM_ON ? ttmem_stack_node_on(parent, kind, name, file, line) : 0;
}
static inline uint32_t ttmem_phase_begin(uint32_t name) { return TTMEM_ON ? ttmem_phase_begin_on(name) : 0; }
static inline void ttmem_phase_end(uint32_t phase) {
    if (TTMEM_ON) ttmem_phase_end_on(phase);
}
/* The peaks that this process itself asks for start over at what is used now; those that others see do not. */
static inline void ttmem_reset_peaks(uint16_t target) {
    if (TTMEM_ON) ttmem_reset_peaks_on(target);
}
static inline void ttmem_label(const char* text) {
    if (TTMEM_ON) ttmem_label_on(text);
}
/* A trace of launches, by a number that is its own among those of its target: its capture begins, a launch of a program is
 * recorded in it, it ends (with the bytes that it takes on the device, 0 unknown); it is replayed; it is released, or its
 * capture came to nothing. What it writes is worked out from the buffers that are freed and the circular buffers of its
 * programs: a buffer that comes to lie there and is alive at a replay is an incident, TTMEM_INCIDENT_UNSAFE_REPLAY. Report a
 * replay before it begins. `site` 0: the source of sites is asked. The first captures ask the system for memory. */
static inline void ttmem_trace_begin(uint16_t target, uint64_t trace, uint32_t site) {
    if (TTMEM_ON) ttmem_trace_begin_on(target, trace, site);
}
static inline void ttmem_trace_program(uint16_t target, uint64_t trace, uint64_t program) {
    if (TTMEM_ON) ttmem_trace_program_on(target, trace, program);
}
static inline void ttmem_trace_end(uint16_t target, uint64_t trace, uint64_t bytes) {
    if (TTMEM_ON) ttmem_trace_end_on(target, trace, bytes);
}
static inline void ttmem_trace_replay(uint16_t target, uint64_t trace) {
    if (TTMEM_ON) ttmem_trace_replay_on(target, trace);
}
static inline void ttmem_trace_release(uint16_t target, uint64_t trace) {
    if (TTMEM_ON) ttmem_trace_release_on(target, trace);
}

#ifdef __cplusplus
}
#endif

#endif
