// `AllocationClient` through the journal: plain C builtins, vector call, nothing allocated. With tracking off they
// return before looking at their arguments; what is reported never raises.
//
// A device id becomes a target of the journal when it is first named. The calls free by id alone, so what is held is
// remembered in a table (holdings.hpp), and the journal needs no index of it. All state is touched under the
// interpreter lock only, and is of one process: a forked child begins with none.
#include "python/client/allocation_client.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "python/client/holdings.hpp"
#include "python/client/reports.hpp"
#include "ttmem/client.h"
#include "writer/operations.hpp"
#include "writer/owner.hpp"

namespace ttmem {
namespace {

constexpr uint32_t kDeviceIdsMost = 65'536;
constexpr uint32_t kHoldersMost = ~uint32_t{0};

const AtomicU32 kAlwaysOpen{kTargetOpen};

// Where a device's reports go: good as long as no process closed that target.
struct Place {
    const AtomicU32* state = nullptr;
    uint16_t target = 0;
};

struct State {
    std::vector<Place> places;  // by device id
    Holdings holdings;
    Writer journal;  // the parts of the journal that the handles are of
    uint64_t lost = 0;
    bool has_warned = false;
    bool is_parents = false;  // forked since: nothing here is this process's
};

State& own = *new State;  // never destroyed: threads may report until the very end

void mark_as_parents() { own.is_parents = true; }

__attribute__((noinline, cold)) void forget_parents() noexcept {
    own.is_parents = false;
    own.places.clear();
    own.holdings.clear();
    own.journal = Writer{};
    own.lost = 0;
}

// ---- devices --------------------------------------------------------------------------------------

bool look_at_journal() noexcept {
    Mapping where{};
    if (owner().mapping(&where) == 0) return false;
    if (static_cast<const Header*>(where.base)->identity.version != kVersion) return false;
    if (own.journal.header != where.base) {
        own.places.clear();
        own.holdings.clear();
        open_parts(own.journal, const_cast<void*>(where.base));
    }
    return true;
}

// The last target is named last: without it, there is room for another.
bool is_full() noexcept {
    return own.journal.targets[kTargets - 1].state.load(std::memory_order_acquire) != kTargetUnnamed;
}

__attribute__((noinline)) uint16_t open_place(uint32_t device) {
    ttmem_free_on(0);  // does nothing but make the journal, if there is to be one
    if (!look_at_journal() || device >= kDeviceIdsMost) return 0;
    const bool was_named = device < own.places.size() && own.places[device].target != 0;
    ttmem_device chip{};
    chip.unique_id = server_device(static_cast<int32_t>(device));
    chip.index = static_cast<int32_t>(device);
    const uint16_t target = is_full() && !was_named ? uint16_t{0} : ttmem_device_open_on(&chip);
    if (target == 0 && !is_full()) return 0;  // not for ever: the next call tries again
    if (own.places.size() <= device) own.places.resize(device + size_t{1});
    own.places[device] = {target != 0 ? &own.journal.targets[target].state : &kAlwaysOpen, target};
    return target;
}

inline uint16_t target_of(int32_t device_id) {
    const auto device = static_cast<uint32_t>(device_id);  // below 0: beyond all
    if (__builtin_expect(device < own.places.size(), 1)) {
        const Place& place = own.places[device];
        if (__builtin_expect(place.state != nullptr && place.state->load(std::memory_order_relaxed) == kTargetOpen, 1))
            return place.target;
    }
    return open_place(device);
}

// ---- holdings -------------------------------------------------------------------------------------

// Whether the journal has ended what a handle names (tracking was turned off, its target closed). What found the
// table full is in no table, and held for alive.
bool is_over(ttmem_handle handle) noexcept {
    if ((handle & kUntabledHandle) != 0) return false;
    const auto [made_by, entry] = Handle::unpack(handle);
    if (handle == 0 || entry >= own.journal.table) return true;
    return own.journal.slab[entry].commit.load(std::memory_order_acquire) != committed(made_by);
}

struct Report {
    Thing thing;
    int32_t device;
    uint64_t size, id;
    uint8_t type;
};

// Kernels of unknown types are of one kind; buffers are compared by the type they were reported with.
uint8_t type_of(const Report& report) noexcept {
    return report.thing == Thing::kernel && report.type > 2 ? uint8_t{3} : report.type;
}

uint8_t kind_of_kernel(uint8_t type) noexcept {
    return type <= 2 ? static_cast<uint8_t>(TTMEM_KERNEL_APPLICATION + type) : uint8_t{TTMEM_KERNEL_UNKNOWN};
}

ttmem_handle allocate_in_journal(const Report& report, uint16_t target) noexcept {
    if (report.thing == Thing::buffer) {
        ttmem_buffer buffer{};
        buffer.target = target;
        buffer.id = buffer.address = report.id;
        buffer.reserved_bytes = report.size;
        buffer.type = report.type;
        buffer.options = TTMEM_BY_HANDLE;
        return ttmem_buffer_alloc_on(&buffer);
    }
    if (report.thing == Thing::circular_buffer) {
        ttmem_circular_buffer cb{};
        cb.target = target;
        cb.id = report.id;
        cb.address = report.id <= 0xffff'ffff ? static_cast<uint32_t>(report.id) : 0;
        cb.size_per_core_bytes = report.size;  // the calls say one size, and no cores
        cb.core_count = 1;
        cb.options = TTMEM_BY_HANDLE;
        return ttmem_cb_alloc_on(&cb);
    }
    ttmem_kernel kernel{};
    kernel.target = target;
    kernel.id = report.id;
    kernel.kind = kind_of_kernel(report.type);
    kernel.binary_times_cores_bytes = report.size;
    kernel.options = TTMEM_BY_HANDLE;
    return ttmem_kernel_load_on(&kernel);
}

// Something that is held already is reported again. By as many bytes of the same type, it is another holder's (a kernel
// has one: its program). Otherwise its free was lost and the id used again, or a kernel was built again: what was there
// ends, and the journal counts what it counts when it sees that for itself; a kernel of another type is another's. True
// when nothing is left to report.
__attribute__((noinline)) bool is_held_alike(Holding& held, const Report& report, uint64_t size) noexcept {
    if (is_over(held.handle)) return false;
    const bool is_kernel = report.thing == Thing::kernel;
    const bool is_alike = held.type == type_of(report);
    if (held.size_bytes == size && is_alike) {
        if (!is_kernel && held.holders != kHoldersMost) ++held.holders;
        return true;
    }
    Header& header = *own.journal.header;
    if (!is_kernel || !is_alike)
        header.replaced.fetch_add(1, std::memory_order_relaxed);
    else if (size < held.size_bytes)
        header.shrunk_kernels.fetch_add(1, std::memory_order_relaxed);
    ttmem_free_on(held.handle);
    return false;
}

__attribute__((always_inline)) inline void hold(const Report& report) {
    if (__builtin_expect(own.is_parents, 0)) forget_parents();
    const uint16_t target = target_of(report.device);
    const uint64_t size = report.size <= kSizeMost ? report.size : kSizeMost;
    Holding* held = own.holdings.find_or_add(report.thing, report.device, report.id, is_over);
    if (__builtin_expect(held == nullptr, 0)) {  // no memory to remember it in: it could never be freed
        ++own.lost;
        return;
    }
    if (__builtin_expect(held->holders != 0, 0) && is_held_alike(*held, report, size)) return;
    held->handle = allocate_in_journal(report, target);
    held->size_bytes = size & kHoldingSizeMost;
    held->type = type_of(report);
    held->holders = 1;
    if (__builtin_expect(held->handle == 0, 0)) own.holdings.erase(*held);  // tracking was turned off, or refused
}

__attribute__((always_inline)) inline void let_go(Thing thing, int32_t device, uint64_t id, uint8_t kind) {
    if (__builtin_expect(own.is_parents, 0)) forget_parents();
    Holding* held = own.holdings.find(thing, device, id);
    if (__builtin_expect(held == nullptr, 0))  // the journal knows whether that is a mistake
        return ttmem_free_id_on(target_of(device), kind, id, TTMEM_POOL_UNKNOWN, 0);
    if (__builtin_expect(held->holders > 1, 0)) {
        --held->holders;
        return;
    }
    ttmem_free_on(held->handle);
    own.holdings.erase(*held);
}

// ---- arguments ------------------------------------------------------------------------------------

using Values = PyObject* const*;

constexpr const char* kAllocation[] = {"device_id", "size", "buffer_type", "buffer_id"};
constexpr const char* kDeallocation[] = {"device_id", "buffer_id"};
constexpr const char* kCb[] = {"device_id", "size", "cb_id"};
constexpr const char* kKernelLoad[] = {"device_id", "size", "kernel_id", "kernel_type"};
constexpr const char* kKernelUnload[] = {"device_id", "size", "kernel_id"};

struct Arguments {
    uint64_t word[4];
    PyObject* given[4];

    uint64_t size(int i) const { return size_from(given[i], word[i]); }
    int32_t device() const { return static_cast<int32_t>(word[0]); }
    /// Whether it is as wide as the older message has it. RecordCopy below 0 may be numbers that were cut: looked at again.
    bool has_device() const {
        return __builtin_expect(word[0] <= INT32_MAX, 1) ||
               (static_cast<int64_t>(word[0]) < 0 && is_negative_device(given[0]));
    }
    // Not of `this`: the words would have to leave their registers for it.
    __attribute__((noinline, cold)) static bool is_negative_device(PyObject* value) {
        int overflow = 0;
        const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
        return overflow == 0 && number < 0 && number >= INT32_MIN && PyErr_Occurred() == nullptr;
    }
    uint8_t byte(int i) const { return word[i] <= 0xff ? static_cast<uint8_t>(word[i]) : uint8_t{0xff}; }
};

constexpr const char kWarning[] =
    "ttmem: AllocationClient.%s: expected the integers of its documentation, found something else; such reports are "
    "not counted, see AllocationClient.lost_count()\n";

// Nothing that is reported may harm the host; but what is no error of the report (an interrupt) is not ours to hide.
__attribute__((noinline, cold)) PyObject* lose(const char* name) {
    if (PyErr_Occurred() != nullptr) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) return nullptr;
        PyErr_Clear();
    }
    ++own.lost;
    if (!own.has_warned) {
        own.has_warned = true;
        char line[256];
        const int length = std::snprintf(line, sizeof line, kWarning, name);
        if (length > 0 && write(STDERR_FILENO, line, static_cast<size_t>(length)) < 0) Py_RETURN_NONE;
    }
    Py_RETURN_NONE;
}

bool place_keywords(Values values, Py_ssize_t positional, PyObject* names, const char* const* known, int count,
                    PyObject** given) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
        int at = 0;
        while (at < count && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), known[at]) != 0) ++at;
        if (at == count || given[at] != nullptr) return false;
        given[at] = values[positional + i];
    }
    return true;
}

/// The arguments of one call: by position, by name, or both; the last may be left out where `least` allows it.
template <int kCount>
__attribute__((always_inline)) inline bool read_arguments(const char* const (&known)[kCount], int least, Values values,
                                                          Py_ssize_t positional, PyObject* names, Arguments& to) {
    if (__builtin_expect(positional > kCount, 0)) return false;
    for (int i = 0; i < kCount; ++i) to.given[i] = i < positional ? values[i] : nullptr;
    if (__builtin_expect(names != nullptr, 0) && !place_keywords(values, positional, names, known, kCount, to.given))
        return false;
    bool is_good = true;
#pragma GCC unroll 4
    for (int i = 0; i < kCount; ++i) {
        if (__builtin_expect(to.given[i] == nullptr, 0)) {
            is_good &= i >= least;
            to.word[i] = 0;
        } else {
            uint64_t word = 0;  // a copy: the words themselves then stay in registers
            if (__builtin_expect(!read_small_word(to.given[i], word), 0))
                is_good &= is_good && read_word(to.given[i], word);
            to.word[i] = word;
        }
    }
    return is_good;
}

// ---- the calls ------------------------------------------------------------------------------------

// Python's own signature of a fast call with keywords.
#define TTMEM_CALL(name) PyObject* name(PyObject*, Values values, Py_ssize_t positional, PyObject* names)
#define TTMEM_READ(known, least)                                                                             \
    if (!TTMEM_ON) Py_RETURN_NONE;                                                                           \
    Arguments a;                                                                                             \
    if (__builtin_expect(!read_arguments(known, least, values, positional, names, a) || !a.has_device(), 0)) \
    return lose(__func__)

TTMEM_CALL(report_allocation) {
    TTMEM_READ(kAllocation, 4);
    hold({Thing::buffer, a.device(), a.size(1), a.word[3], a.byte(2)});
    Py_RETURN_NONE;
}

TTMEM_CALL(report_deallocation) {
    TTMEM_READ(kDeallocation, 2);
    let_go(Thing::buffer, a.device(), a.word[1], TTMEM_BUFFER);
    Py_RETURN_NONE;
}

TTMEM_CALL(report_cb_allocation) {
    TTMEM_READ(kCb, 3);
    hold({Thing::circular_buffer, a.device(), a.size(1), a.word[2], 0});
    Py_RETURN_NONE;
}

TTMEM_CALL(report_cb_deallocation) {
    TTMEM_READ(kCb, 3);
    let_go(Thing::circular_buffer, a.device(), a.word[2], TTMEM_CIRCULAR_BUFFER);
    Py_RETURN_NONE;
}

TTMEM_CALL(report_kernel_load) {
    TTMEM_READ(kKernelLoad, 3);
    hold({Thing::kernel, a.device(), a.size(1), a.word[2], a.byte(3)});
    Py_RETURN_NONE;
}

TTMEM_CALL(report_kernel_unload) {
    TTMEM_READ(kKernelUnload, 3);
    let_go(Thing::kernel, a.device(), a.word[2], TTMEM_KERNEL_APPLICATION);
    Py_RETURN_NONE;
}

#undef TTMEM_READ
#undef TTMEM_CALL

PyObject* is_enabled(PyObject*, PyObject*) { return PyBool_FromLong(owner().would_write()); }

PyObject* lost_count(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(own.is_parents ? 0 : own.lost); }

PyObject* count_lost(PyObject*, PyObject*) {
    if (own.is_parents) forget_parents();
    ++own.lost;
    Py_RETURN_NONE;
}

template <typename Function>
PyCFunction as_builtin(Function* function) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

constexpr int kFast = METH_FASTCALL | METH_KEYWORDS;

PyMethodDef kCalls[] = {
    {"report_allocation", as_builtin(report_allocation), kFast,
     "report_allocation(device_id, size, buffer_type, buffer_id)"},
    {"report_deallocation", as_builtin(report_deallocation), kFast, "report_deallocation(device_id, buffer_id)"},
    {"report_cb_allocation", as_builtin(report_cb_allocation), kFast, "report_cb_allocation(device_id, size, cb_id)"},
    {"report_cb_deallocation", as_builtin(report_cb_deallocation), kFast,
     "report_cb_deallocation(device_id, size, cb_id)"},
    {"report_kernel_load", as_builtin(report_kernel_load), kFast,
     "report_kernel_load(device_id, size, kernel_id, kernel_type=0)"},
    {"report_kernel_unload", as_builtin(report_kernel_unload), kFast,
     "report_kernel_unload(device_id, size, kernel_id)"},
    {"is_enabled", is_enabled, METH_NOARGS, "is_enabled()"},
    {"lost_count", lost_count, METH_NOARGS, "lost_count()"},
    {"count_lost", count_lost, METH_NOARGS, "count_lost()"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_allocation_client(PyObject* module) {
    pthread_atfork(nullptr, nullptr, mark_as_parents);
    return PyModule_AddFunctions(module, kCalls) == 0;
}

}  // namespace ttmem
