// The reporting functions as plain C builtins: positional arguments, vector call, no Python frame, nothing allocated
// but the returned handle. With tracking off they return before looking at their arguments.
#include "python/client/reports.hpp"

#include <Python.h>

#include <cstring>
#include <vector>

#include "ttmem/client.h"

namespace ttmem {
namespace {

struct Arguments {
    uint64_t word[12] = {};
    bool is_good = false;

    Arguments(const char* name, PyObject* const* values, Py_ssize_t count, Py_ssize_t least, Py_ssize_t most) {
        if (count < least || count > most) {
            PyErr_Format(PyExc_TypeError, "%s() takes %zd to %zd positional arguments (%zd given)", name, least, most,
                         count);
            return;
        }
        for (Py_ssize_t i = 0; i < count; ++i)
            if (!read_word(values[i], word[i])) return;
        given = values;
        is_good = true;
    }

    uint64_t size(int i) const { return size_from(given[i], word[i]); }

private:
    PyObject* const* given = nullptr;
};

// Small fields keep an out-of-range value out of range, so that it lands under `unknown` instead of on a neighbour.
uint16_t target_of(uint64_t word) { return word <= 0xffff ? static_cast<uint16_t>(word) : uint16_t{0xffff}; }
uint8_t byte_of(uint64_t word) { return word <= 0xff ? static_cast<uint8_t>(word) : uint8_t{0xff}; }
// Frees name a kind as the allocation did; both read it alike.
uint8_t kind_of_cb(uint64_t word) {
    if (word == 0) return TTMEM_CIRCULAR_BUFFER;
    return word >= TTMEM_CIRCULAR_BUFFER && word <= TTMEM_SCRATCHPAD ? static_cast<uint8_t>(word) : uint8_t{0xff};
}
uint8_t kind_of_kernel(uint64_t word) {
    const bool is_known = word >= TTMEM_KERNEL_APPLICATION && word <= TTMEM_KERNEL_DISPATCH;
    return is_known ? static_cast<uint8_t>(word) : uint8_t{TTMEM_KERNEL_UNKNOWN};
}
uint16_t count_of(uint64_t word) {
    return static_cast<int64_t>(word) < 0 ? uint16_t{0}
                                          : (word <= 0xffff ? static_cast<uint16_t>(word) : uint16_t{0xffff});
}
// No chip has that many cores, or fewer than none: the size that a count is a factor of becomes as impossible.
uint64_t size_for_count(uint64_t size, uint64_t count) {
    if (count <= 0xffff) return size;
    return static_cast<int64_t>(count) < 0 ? ~uint64_t{0} : uint64_t{1} << 62;
}
uint32_t half_of(uint64_t word) { return word <= 0xffff'ffff ? static_cast<uint32_t>(word) : 0; }

PyObject* handle_object(ttmem_handle handle) { return PyLong_FromUnsignedLongLong(handle); }

using Values = PyObject* const*;

PyObject* report_buffer_alloc(PyObject*, Values values, Py_ssize_t count) {
    if (!TTMEM_ON) return PyLong_FromLong(0);
    const Arguments a("report_buffer_alloc", values, count, 3, 11);
    if (!a.is_good) return nullptr;
    ttmem_buffer buffer{};
    buffer.target = target_of(a.word[0]);
    buffer.id = a.word[1];
    buffer.reserved_bytes = a.size(2);
    buffer.requested_bytes = a.size(3);
    buffer.address = a.word[4];
    buffer.per_bank_bytes = a.size(5);
    buffer.type = byte_of(a.word[6]);
    buffer.site = half_of(a.word[7]);
    buffer.options = byte_of(a.word[8]);
    buffer.page_bytes = a.size(9);
    buffer.layout = byte_of(a.word[10]);
    return handle_object(ttmem_buffer_alloc_on(&buffer));
}

// One address of a buffer that is allocated by core: (address, core_set, core_count).
bool read_part(PyObject* given, ttmem_core_part& part, bool& is_countable) {
    PyObject* fields = PySequence_Fast(given, "report_core_buffer_alloc(): a part is (address, core_set, core_count)");
    if (fields == nullptr) return false;
    const Arguments a("a part of report_core_buffer_alloc", PySequence_Fast_ITEMS(fields),
                      PySequence_Fast_GET_SIZE(fields), 3, 3);
    part = {half_of(a.word[0]), half_of(a.word[1]), count_of(a.word[2])};
    is_countable &= a.word[2] <= 0xffff;
    Py_DECREF(fields);
    return a.is_good;
}

PyObject* report_core_buffer_alloc(PyObject*, Values values, Py_ssize_t count) {
    if (!TTMEM_ON) return PyLong_FromLong(0);
    if (count < 4) {
        PyErr_Format(PyExc_TypeError, "report_core_buffer_alloc() takes 4 to 9 positional arguments (%zd given)",
                     count);
        return nullptr;
    }
    PyObject* rest[8] = {values[0], values[1], values[2]};  // all but the parts
    for (Py_ssize_t i = 4; i < count && i < 9; ++i) rest[i - 1] = values[i];
    const Arguments a("report_core_buffer_alloc", rest, count - 1, 3, 8);
    PyObject* given =
        a.is_good ? PySequence_Fast(values[3], "report_core_buffer_alloc(): parts must be a sequence") : nullptr;
    if (given == nullptr) return nullptr;
    std::vector<ttmem_core_part> parts(static_cast<size_t>(PySequence_Fast_GET_SIZE(given)));
    bool is_good = true, is_countable = true;
    for (size_t i = 0; i < parts.size() && is_good; ++i)
        is_good = read_part(PySequence_Fast_GET_ITEM(given, static_cast<Py_ssize_t>(i)), parts[i], is_countable);
    Py_DECREF(given);
    if (!is_good) return nullptr;
    ttmem_core_buffer buffer{};
    buffer.target = target_of(a.word[0]);
    buffer.id = a.word[1];
    buffer.size_per_core_bytes = is_countable ? a.size(2) : ~uint64_t{0};
    buffer.parts = parts.data();
    buffer.part_count = static_cast<uint32_t>(parts.size());
    buffer.requested_bytes = a.size(3);
    buffer.type = count > 5 ? byte_of(a.word[4]) : uint8_t{TTMEM_BUFFER_L1};
    buffer.site = half_of(a.word[5]);
    buffer.options = byte_of(a.word[6]);
    buffer.layout = byte_of(a.word[7]);
    return handle_object(ttmem_core_buffer_alloc_on(&buffer));
}

PyObject* report_cb_alloc(PyObject*, Values values, Py_ssize_t count) {
    if (!TTMEM_ON) return PyLong_FromLong(0);
    const Arguments a("report_cb_alloc", values, count, 5, 10);
    if (!a.is_good) return nullptr;
    ttmem_circular_buffer cb{};
    cb.target = target_of(a.word[0]);
    cb.id = a.word[1];
    cb.address = half_of(a.word[2]);
    cb.size_per_core_bytes = size_for_count(a.size(3), a.word[4]);
    cb.core_count = count_of(a.word[4]);
    cb.options = byte_of(a.word[5]);
    cb.program = a.word[6];
    cb.kind = count > 7 ? byte_of(a.word[7]) : uint8_t{TTMEM_CIRCULAR_BUFFER};
    cb.site = half_of(a.word[8]);
    cb.core_set = half_of(a.word[9]);
    return handle_object(ttmem_cb_alloc_on(&cb));
}

PyObject* report_kernel_load(PyObject*, Values values, Py_ssize_t count) {
    if (!TTMEM_ON) return PyLong_FromLong(0);
    const Arguments a("report_kernel_load", values, count, 5, 12);
    if (!a.is_good) return nullptr;
    ttmem_kernel kernel{};
    kernel.target = target_of(a.word[0]);
    kernel.id = a.word[1];
    kernel.kind = byte_of(a.word[2]);
    kernel.binary_bytes = a.size(3);
    kernel.core_count = count_of(a.word[4]);
    kernel.exact_bytes = a.size(5);
    kernel.binary_times_cores_bytes = a.size(6) != 0 ? a.size(6) : size_for_count(0, a.word[4]);
    kernel.program = a.word[7];
    kernel.pool = byte_of(a.word[8]);
    kernel.site = half_of(a.word[9]);
    kernel.core_type = byte_of(a.word[10]);
    kernel.found_by = byte_of(a.word[11]);
    return handle_object(ttmem_kernel_load_on(&kernel));
}

PyObject* report_free(PyObject*, PyObject* value) {
    if (!TTMEM_ON) Py_RETURN_NONE;
    const Arguments a("report_free", &value, 1, 1, 1);
    if (!a.is_good) return nullptr;
    ttmem_free_on(a.word[0]);
    Py_RETURN_NONE;
}

PyObject* report_buffer_free(PyObject*, Values values, Py_ssize_t count) {
    if (!TTMEM_ON) Py_RETURN_NONE;
    const Arguments a("report_buffer_free", values, count, 2, 4);
    if (!a.is_good) return nullptr;
    constexpr uint8_t kPoolOf[] = {TTMEM_DRAM, TTMEM_L1, TTMEM_HOST, TTMEM_L1_SMALL, TTMEM_TRACE};
    const uint8_t pool = a.word[2] < sizeof kPoolOf ? kPoolOf[a.word[2]] : uint8_t{TTMEM_POOL_UNKNOWN};
    ttmem_free_id_on(target_of(a.word[0]), TTMEM_BUFFER, a.word[1], pool, a.word[3]);
    Py_RETURN_NONE;
}

PyObject* report_cb_free(PyObject*, Values values, Py_ssize_t count) {
    if (!TTMEM_ON) Py_RETURN_NONE;
    const Arguments a("report_cb_free", values, count, 2, 4);
    if (!a.is_good) return nullptr;
    const uint8_t kind = count > 2 ? kind_of_cb(a.word[2]) : uint8_t{TTMEM_CIRCULAR_BUFFER};
    ttmem_free_id_on(target_of(a.word[0]), kind, a.word[1], TTMEM_CB, a.word[3]);
    Py_RETURN_NONE;
}

PyObject* report_kernel_unload(PyObject*, Values values, Py_ssize_t count) {
    if (!TTMEM_ON) Py_RETURN_NONE;
    const Arguments a("report_kernel_unload", values, count, 2, 4);
    if (!a.is_good) return nullptr;
    const uint8_t kind = count > 2 ? kind_of_kernel(a.word[2]) : uint8_t{TTMEM_KERNEL_APPLICATION};
    const bool is_system = kind == TTMEM_KERNEL_FABRIC || kind == TTMEM_KERNEL_DISPATCH;
    const uint8_t pool =
        is_system ? uint8_t(kind == TTMEM_KERNEL_FABRIC ? TTMEM_ETH : TTMEM_DISPATCH) : uint8_t{TTMEM_KERNEL};
    ttmem_free_id_on(target_of(a.word[0]), kind, a.word[1], pool, a.word[3]);
    Py_RETURN_NONE;
}

PyObject* report_binary_status(PyObject*, Values values, Py_ssize_t count) {
    if (!TTMEM_ON) Py_RETURN_NONE;
    const Arguments a("report_binary_status", values, count, 3, 5);
    if (!a.is_good) return nullptr;
    ttmem_binaries_placed_on(target_of(a.word[0]), a.word[1], byte_of(a.word[2]), a.size(3), a.word[4]);
    Py_RETURN_NONE;
}

PyObject* report_program_end(PyObject*, Values values, Py_ssize_t count) {
    if (!TTMEM_ON) Py_RETURN_NONE;
    const Arguments a("report_program_end", values, count, 2, 2);
    if (!a.is_good) return nullptr;
    ttmem_free_id_on(target_of(a.word[0]), TTMEM_PROGRAM_BINARY, a.word[1], TTMEM_DRAM, 0);
    Py_RETURN_NONE;
}

PyObject* report_launch(PyObject*, Values values, Py_ssize_t count) {
    if (!TTMEM_ON) Py_RETURN_NONE;
    const Arguments a("report_launch", values, count, 2, 2);
    if (!a.is_good) return nullptr;
    ttmem_launch_on(target_of(a.word[0]), a.word[1]);
    Py_RETURN_NONE;
}

PyObject* report_out_of_memory(PyObject*, Values values, Py_ssize_t count) {
    if (!TTMEM_ON) Py_RETURN_NONE;
    const Arguments a("report_out_of_memory", values, count, 3, 5);
    if (!a.is_good) return nullptr;
    ttmem_out_of_memory_on(target_of(a.word[0]), byte_of(a.word[1]), a.size(2), a.size(3), a.size(4));
    Py_RETURN_NONE;
}

PyObject* report_clash(PyObject*, Values values, Py_ssize_t count) {
    if (!TTMEM_ON) Py_RETURN_NONE;
    const Arguments a("report_clash", values, count, 4, 4);
    if (!a.is_good) return nullptr;
    const ttmem_cb_clash clash{a.word[1], a.word[2], a.word[3], target_of(a.word[0])};
    ttmem_clash_on(&clash);
    Py_RETURN_NONE;
}

// What may be reported an incident, by its name: figures of which None is unknown, and other numbers.
struct IncidentWord {
    const char* name;
    uint64_t ttmem_incident::* word;
    bool is_figure;
};
constexpr IncidentWord kIncidentWords[] = {
    {"requested_bytes", &ttmem_incident::requested_bytes, true},
    {"per_bank_bytes", &ttmem_incident::per_bank_bytes, true},
    {"free_bytes", &ttmem_incident::free_bytes, true},
    {"largest_free_bytes", &ttmem_incident::largest_free_bytes, true},
    {"bank_free_bytes", &ttmem_incident::bank_free_bytes, true},
    {"bank_largest_free_bytes", &ttmem_incident::bank_largest_free_bytes, true},
    {"space_begin_address", &ttmem_incident::space_begin_address, false},
    {"space_end_address", &ttmem_incident::space_end_address, false},
    {"program", &ttmem_incident::program, false},
    {"cb_end_address", &ttmem_incident::cb_end_address, false},
    {"buffer_address", &ttmem_incident::buffer_address, false},
    {"trace", &ttmem_incident::trace, false},
    {"address", &ttmem_incident::address, false},
};
struct IncidentHalf {
    const char* name;
    uint32_t ttmem_incident::* half;
};
constexpr IncidentHalf kIncidentHalves[] = {
    {"bank_count", &ttmem_incident::bank_count},
    {"core_set", &ttmem_incident::core_set},
    {"site", &ttmem_incident::site},
    {"other_site", &ttmem_incident::other_site},
    {"options", &ttmem_incident::options},
};

bool read_incident_text(PyObject* value, ttmem_incident& incident) {
    if (!PyUnicode_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "report_incident(): text must be a str");
        return false;
    }
    Py_ssize_t bytes = 0;
    const char* text = PyUnicode_AsUTF8AndSize(value, &bytes);
    if (text == nullptr) {  // lone surrogates: the incident counts without its text
        PyErr_Clear();
        return true;
    }
    incident.text = text;
    incident.text_bytes = bytes < 0xffff ? static_cast<uint32_t>(bytes) : 0xffffu;
    return true;
}

bool read_incident_word(const char* name, PyObject* value, ttmem_incident& incident) {
    if (std::strcmp(name, "text") == 0) return read_incident_text(value, incident);
    uint64_t word = 0;
    for (const IncidentWord& known : kIncidentWords) {
        if (std::strcmp(known.name, name) != 0) continue;
        if (value == Py_None) return true;  // as it was: unknown
        if (!read_word(value, word)) return false;
        incident.*known.word = known.is_figure ? size_from(value, word) : word;
        return true;
    }
    for (const IncidentHalf& known : kIncidentHalves) {
        if (std::strcmp(known.name, name) != 0) continue;
        if (!read_word(value, word)) return false;
        incident.*known.half = half_of(word);
        return true;
    }
    PyErr_Format(PyExc_TypeError, "report_incident() got an unexpected keyword argument '%s'", name);
    return false;
}

PyObject* report_incident(PyObject*, Values values, Py_ssize_t count, PyObject* names) {
    if (!TTMEM_ON && count == 3) Py_RETURN_NONE;
    const Arguments a("report_incident", values, count, 3, 3);
    if (!a.is_good) return nullptr;
    ttmem_incident incident{};
    incident.struct_bytes = sizeof incident;
    incident.target = target_of(a.word[0]);
    incident.kind = byte_of(a.word[1]);
    incident.pool = byte_of(a.word[2]);
    for (const IncidentWord& known : kIncidentWords)
        if (known.is_figure) incident.*known.word = TTMEM_UNKNOWN_FIGURE;
    for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i) {
        const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i));
        if (name == nullptr || !read_incident_word(name, values[count + i], incident)) return nullptr;
    }
    ttmem_incident_on(&incident);
    Py_RETURN_NONE;
}

PyObject* report_ring(PyObject*, Values values, Py_ssize_t count) {
    if (!TTMEM_ON) Py_RETURN_NONE;
    const Arguments a("report_ring", values, count, 5, 8);
    if (!a.is_good) return nullptr;
    ttmem_ring_state state{};
    state.target = target_of(a.word[0]);
    state.core_type = byte_of(a.word[1]);
    state.live_bytes = a.size(2);
    state.retired_bytes = a.size(3);
    state.entry_count = half_of(a.word[4]);
    state.stall = byte_of(a.word[5]);
    state.ring_bytes = a.size(6);
    state.is_aside = count > 7 && a.word[7] == 0;
    ttmem_ring_on(&state);
    Py_RETURN_NONE;
}

PyObject* report_cache(PyObject*, Values values, Py_ssize_t count) {
    if (!TTMEM_ON) Py_RETURN_NONE;
    const Arguments a("report_cache", values, count, 3, 7);
    if (!a.is_good) return nullptr;
    ttmem_cache_answer answer{};
    answer.target = target_of(a.word[0]);
    answer.cache = byte_of(a.word[1]);
    answer.outcome = byte_of(a.word[2]);
    answer.size_bytes = a.size(3);
    answer.entry_count = half_of(a.word[4]);
    answer.held_bytes = a.size(5);
    answer.shared_bytes = a.size(6);
    ttmem_cache_on(&answer);
    Py_RETURN_NONE;
}

PyObject* report_trace_begin(PyObject*, Values values, Py_ssize_t count) {
    if (!TTMEM_ON) Py_RETURN_NONE;
    const Arguments a("report_trace_begin", values, count, 2, 3);
    if (!a.is_good) return nullptr;
    ttmem_trace_begin_on(target_of(a.word[0]), a.word[1], half_of(a.word[2]));
    Py_RETURN_NONE;
}

PyObject* report_trace_program(PyObject*, Values values, Py_ssize_t count) {
    if (!TTMEM_ON) Py_RETURN_NONE;
    const Arguments a("report_trace_program", values, count, 3, 3);
    if (!a.is_good) return nullptr;
    ttmem_trace_program_on(target_of(a.word[0]), a.word[1], a.word[2]);
    Py_RETURN_NONE;
}

PyObject* report_trace_end(PyObject*, Values values, Py_ssize_t count) {
    if (!TTMEM_ON) Py_RETURN_NONE;
    const Arguments a("report_trace_end", values, count, 2, 3);
    if (!a.is_good) return nullptr;
    ttmem_trace_end_on(target_of(a.word[0]), a.word[1], count > 2 ? a.size(2) : 0);
    Py_RETURN_NONE;
}

PyObject* report_trace_replay(PyObject*, Values values, Py_ssize_t count) {
    if (!TTMEM_ON) Py_RETURN_NONE;
    const Arguments a("report_trace_replay", values, count, 2, 2);
    if (!a.is_good) return nullptr;
    ttmem_trace_replay_on(target_of(a.word[0]), a.word[1]);
    Py_RETURN_NONE;
}

PyObject* report_trace_release(PyObject*, Values values, Py_ssize_t count) {
    if (!TTMEM_ON) Py_RETURN_NONE;
    const Arguments a("report_trace_release", values, count, 2, 2);
    if (!a.is_good) return nullptr;
    ttmem_trace_release_on(target_of(a.word[0]), a.word[1]);
    Py_RETURN_NONE;
}

template <typename Function>
PyCFunction as_builtin(Function* function) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef kReports[] = {
    {"report_buffer_alloc", as_builtin(report_buffer_alloc), METH_FASTCALL,
     "report_buffer_alloc(target, id, reserved_bytes, requested_bytes=0, address=0, per_bank_bytes=0, buffer_type=0, "
     "site=0, options=0, page_bytes=0, layout=0, /) -> handle"},
    {"report_core_buffer_alloc", as_builtin(report_core_buffer_alloc), METH_FASTCALL,
     "report_core_buffer_alloc(target, id, size_per_core_bytes, parts, requested_bytes=0, buffer_type=1, site=0, "
     "options=0, layout=0, /) -> handle; parts: (address, core_set, core_count) for each address"},
    {"report_cb_alloc", as_builtin(report_cb_alloc), METH_FASTCALL,
     "report_cb_alloc(target, id, address, size_per_core_bytes, core_count, options=0, program=0, kind=2, site=0, "
     "core_set=0, /) -> handle"},
    {"report_kernel_load", as_builtin(report_kernel_load), METH_FASTCALL,
     "report_kernel_load(target, id, kind, binary_bytes, core_count, exact_bytes=0, binary_times_cores_bytes=0, "
     "program=0, "
     "pool=0, site=0, core_type=0, found_by=0, /) -> handle"},
    {"report_free", report_free, METH_O, "report_free(handle, /)"},
    {"report_buffer_free", as_builtin(report_buffer_free), METH_FASTCALL,
     "report_buffer_free(target, id, buffer_type=0, reserved_bytes=0, /)"},
    {"report_cb_free", as_builtin(report_cb_free), METH_FASTCALL,
     "report_cb_free(target, id, kind=2, reserved_bytes=0, /)"},
    {"report_kernel_unload", as_builtin(report_kernel_unload), METH_FASTCALL,
     "report_kernel_unload(target, id, kind=5, reserved_bytes=0, /)"},
    {"report_binary_status", as_builtin(report_binary_status), METH_FASTCALL,
     "report_binary_status(target, program, status, dram_bytes=0, address=0, /)"},
    {"report_program_end", as_builtin(report_program_end), METH_FASTCALL, "report_program_end(target, program, /)"},
    {"report_launch", as_builtin(report_launch), METH_FASTCALL, "report_launch(target, program, /)"},
    {"report_out_of_memory", as_builtin(report_out_of_memory), METH_FASTCALL,
     "report_out_of_memory(target, pool, requested_bytes, free_bytes=0, largest_free_bytes=0, /)"},
    {"report_clash", as_builtin(report_clash), METH_FASTCALL,
     "report_clash(target, program, cb_end_address, buffer_address, /)"},
    {"report_incident", as_builtin(report_incident), METH_FASTCALL | METH_KEYWORDS,
     "report_incident(target, kind, pool, /, *, requested_bytes=None, per_bank_bytes=None, free_bytes=None, "
     "largest_free_bytes=None, bank_free_bytes=None, bank_largest_free_bytes=None, bank_count=0, core_set=0, "
     "space_begin_address=0, space_end_address=0, program=0, cb_end_address=0, buffer_address=0, trace=0, address=0, "
     "site=0, other_site=0, options=0, text='')"},
    {"report_ring", as_builtin(report_ring), METH_FASTCALL,
     "report_ring(target, core_type, live_bytes, retired_bytes, entry_count, stall=0, ring_bytes=0, is_launch=1, /)"},
    {"report_cache", as_builtin(report_cache), METH_FASTCALL,
     "report_cache(target, cache, outcome, size_bytes=0, entry_count=0, held_bytes=0, shared_bytes=0, /)"},
    {"report_trace_begin", as_builtin(report_trace_begin), METH_FASTCALL,
     "report_trace_begin(target, trace, site=0, /)"},
    {"report_trace_program", as_builtin(report_trace_program), METH_FASTCALL,
     "report_trace_program(target, trace, program, /)"},
    {"report_trace_end", as_builtin(report_trace_end), METH_FASTCALL,
     "report_trace_end(target, trace, size_bytes=0, /)"},
    {"report_trace_replay", as_builtin(report_trace_replay), METH_FASTCALL, "report_trace_replay(target, trace, /)"},
    {"report_trace_release", as_builtin(report_trace_release), METH_FASTCALL, "report_trace_release(target, trace, /)"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool read_big_word(PyObject* value, int overflow, uint64_t& word) {
    word = ~uint64_t{0};
    if (overflow < 0) return true;
    word = PyLong_AsUnsignedLongLong(value);  // ids use all 64 bits
    if (PyErr_Occurred() == nullptr) return true;
    PyErr_Clear();
    word = uint64_t{1} << 62;
    return true;
}

bool add_reports(PyObject* module) { return PyModule_AddFunctions(module, kReports) == 0; }

}  // namespace ttmem
