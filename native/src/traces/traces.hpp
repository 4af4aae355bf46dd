// Trace safety: which buffers lie where a captured trace writes.
//
// What a trace writes is settled when it is captured: buffers that lived during the capture, and the circular buffers of its
// programs. Once such a buffer is freed its addresses may be handed out again, and a replay writes there all the same. So
// a trace keeps the address ranges of
//   - buffers on its mesh that were freed while it was captured,
//   - buffers that were made while it was captured, as soon as they are freed later,
//   - circular buffers of the programs whose launches it recorded.
// A buffer that is allocated while there are traces is compared with all of them; one that overlaps is remembered, and is an
// incident when that trace is replayed while it is alive. Replayed again, it counts as a repetition of that incident.
//
//   word             writer                             readers                            order
//   trace_count      the holder of the lock             every allocation and free          relaxed
//   overlap_count    the holder of the lock             every replay                       acquire / release
//   all the rest     the holder of the lock             the same
//
// The lock is tried for a bounded time: what could not be judged is counted (`unjudged`). A forked child has no traces.
#pragma once

#include <atomic>
#include <cstdint>

#include "writer/writer.hpp"

namespace ttmem {

/// Traces that are captured or being captured; living buffers that lie where one of them writes. In the line of memory that
/// every report looks at.
inline std::atomic_ref<uint32_t> trace_count() noexcept { return std::atomic_ref<uint32_t>(the_writer.trace_count); }
inline std::atomic_ref<uint32_t> overlap_count() noexcept {
    return std::atomic_ref<uint32_t>(the_writer.overlap_count);
}

/// Whether any process must be reported what begins and ends.
inline bool have_traces() noexcept { return __builtin_expect(trace_count().load(std::memory_order_relaxed) != 0, 0); }

/// A life began, which the handle names: the handle again. For calls while have_traces().
ttmem_handle compare_with_traces(ttmem_handle handle) noexcept;
/// A life ended; its commit word is still that of the life.
void note_end_in_traces(RecordCopy words) noexcept;
/// Something began or ended that is not listed: no process can compare it.
void count_unjudged() noexcept;

/// Every number is in range; the site is who captures.
void begin_trace(uint16_t target, uint64_t trace, uint32_t site) noexcept;
void add_trace_program(uint16_t target, uint64_t trace, uint64_t program) noexcept;
void end_trace(uint16_t target, uint64_t trace, uint64_t bytes) noexcept;
void replay_trace(uint16_t target, uint64_t trace) noexcept;
void release_trace(uint16_t target, uint64_t trace) noexcept;
/// Traces of a closed target end with it.
void drop_traces_of(uint16_t target) noexcept;

}  // namespace ttmem
