#include "interpreter/sites.hpp"

#include <cstdio>
#include <cstring>

#include "interpreter/frames.hpp"
#include "interpreter/own_words.hpp"
#include "writer/operations.hpp"
#include "writer/stacks.hpp"

namespace ttmem {
namespace {

constexpr int kFramesMost = 16;    // of the user's program
constexpr int kFramesRead = 64;    // with those of libraries between them
constexpr int kFramesChecked = 8;  // of each capture that the kernel reads
constexpr uint32_t kChecks = 64;   // then it is sure: four captures of several frames
constexpr uint32_t kChecksOfSeveral =
    16;                                // what such a capture counts; one of a single frame proves less, and counts 1
constexpr uint32_t kEmptyChecks = 64;  // threads of Python without frames: then only one of that many is asked
constexpr uint32_t kKnownStacks = 131'072;                   // places in the table
constexpr uint32_t kKnownStacksMost = kKnownStacks / 4 * 3;  // then names are looked up each time
constexpr uint32_t kKnownProbes = 256;
constexpr size_t kFileRoom = 1024, kFunctionRoom = 512;
constexpr uint64_t kHasSite = 1ull << 32;

//   state        checks      who may read
//   looking      -           none: no interpreter was found yet
//   checking     below 64    after the kernel has read the same
//   sure         64          any
//   off          -           none, for good
enum class PythonState : uint32_t { looking, finding, checking, sure, off };
std::atomic<PythonState> python_state{PythonState::looking};
std::atomic<uint32_t> python_asked{0}, python_checks{0}, python_empty{0};
Interpreter the_interpreter;  // these three are written while finding, or before it is off
PythonRow the_row;
const char* python_fault = nullptr;

struct KnownStack {
    std::atomic<uint64_t> hash;  // 0: free
    std::atomic<uint64_t> site;  // with kHasSite once it is known
};
struct KnownStacks {
    uint32_t generation;
    std::atomic<uint32_t> count;
    KnownStack places[kKnownStacks];
};
std::atomic<KnownStacks*> known_stacks{nullptr};

// The place of a stack, its own or the first free one; none where it would have to be looked for too long.
KnownStack* place_of_stack(KnownStacks& known, uint64_t hash) noexcept {
    for (uint32_t at = static_cast<uint32_t>(hash >> 40), probe = 0; probe < kKnownProbes; ++at, ++probe) {
        KnownStack& place = known.places[at % kKnownStacks];
        uint64_t seen = place.hash.load(std::memory_order_acquire);
        if (seen == hash) return &place;
        if (seen != 0) continue;
        if (known.count.load(std::memory_order_relaxed) >= kKnownStacksMost) return nullptr;
        if (place.hash.compare_exchange_strong(seen, hash, std::memory_order_acq_rel)) {
            known.count.fetch_add(1, std::memory_order_relaxed);
            return &place;
        }
        if (seen == hash) return &place;
    }
    return nullptr;
}

uint32_t node_of(uint32_t parent, const PythonFrame& frame) noexcept {
    const uint64_t number = mixed(mixed(frame.identity, parent), static_cast<uint32_t>(frame.instruction));
    uint32_t site = 0;
    if (find_site(number, site)) return site;
    char file[kFileRoom], function[kFunctionRoom];
    const std::string_view path(file, file_of(the_row, frame, file, sizeof file));
    const std::string_view name(function, function_of(the_row, frame, function, sizeof function));
    const int line = the_interpreter.line_of(const_cast<char*>(frame.code), frame.instruction);
    if (the_interpreter.is_finalizing() != 0) return parent;  // read_frames says why
    site = stack_node(parent, Node::frame, name, end_of_path(path), line > 0 ? static_cast<uint32_t>(line) : 0);
    if (site != kOtherSite) keep_site(number, site);  // there may be room later
    return site;
}

// Kept by its code: as a site, 1 if its frames are left out.
bool is_left_out(const PythonFrame& frame) noexcept {
    constexpr uint64_t kOfFile = 0x66'69'6c'65;
    const uint64_t number = mixed(frame.identity, kOfFile);
    uint32_t is_it = 0;
    if (find_site(number, is_it)) return is_it != 0;
    char file[kFileRoom];
    is_it = is_library_file({file, file_of(the_row, frame, file, sizeof file)}) ? 1 : 0;
    keep_site(number, is_it);
    return is_it != 0;
}

// Of a new stack most frames are known: those of its callers.
[[gnu::noinline]] uint32_t new_site(const PythonFrame* frames, int depth) noexcept {
    int kept[kFramesMost], count = 0;
    for (int i = 0; i < depth && count < kFramesMost; ++i)
        if (!is_left_out(frames[i])) kept[count++] = i;
    uint32_t site = 0;
    while (count-- > 0) site = node_of(site, frames[kept[count]]);
    return site;
}

constexpr const char* kNoPython = "there is no CPython in this process, or it hides its names";

// Kept in the journal, once in each: a reader says why lines are missing.
void keep_why_off(const char* why, int length) noexcept {
    Header& header = *the_writer.header;
    if (length < 0 || header.sites_off.load(std::memory_order_relaxed) != 0) return;
    header.sites_off.store(intern(why, static_cast<uint32_t>(length)), std::memory_order_release);
}

[[gnu::cold]] uint32_t report_why_off() noexcept {
    if (the_writer.header->sites_off.load(std::memory_order_relaxed) != 0) return 0;
    char why[256];
    int length = std::snprintf(why, sizeof why, "%s (Python %.32s)", python_fault, the_interpreter.version());
    for (int i = 0; i < length; ++i)
        if (why[i] == '\n') why[i] = ' ';
    keep_why_off(why, length);
    return 0;
}

void turn_python_off(const char* fault) noexcept {
    python_fault = fault;
    python_state.store(PythonState::off, std::memory_order_release);
}

// A library that embeds Python may be loaded later: looked for again, more and more rarely.
[[gnu::cold]] void look_for_python() noexcept {
    const uint32_t asked = python_asked.fetch_add(1, std::memory_order_relaxed);
    PythonState looking = PythonState::looking;
    if ((asked & (asked - 1)) != 0 || !python_state.compare_exchange_strong(looking, PythonState::finding)) return;
    const SavedErrno kept;
    if (!find_interpreter(the_interpreter)) {
        keep_why_off(kNoPython, static_cast<int>(std::strlen(kNoPython)));
        return python_state.store(PythonState::looking, std::memory_order_release);
    }
    the_writer.header->sites_off.store(0, std::memory_order_release);
    if (const char* fault = row_of(the_interpreter, the_row)) return turn_python_off(fault);
    if (const char* fault = check_row(the_interpreter, the_row)) return turn_python_off(fault);
    python_state.store(PythonState::checking, std::memory_order_release);
}

// Whether frames may be read now.
[[gnu::cold]] bool check_python() noexcept {
    if (python_state.load(std::memory_order_acquire) == PythonState::looking) look_for_python();
    const PythonState now = python_state.load(std::memory_order_acquire);
    if (now == PythonState::off) return report_why_off() != 0;
    if (now != PythonState::checking) return now == PythonState::sure;
    if (!is_thread_of(the_interpreter)) return false;  // costs little, however many there are before Python begins
    const uint32_t empty = python_empty.load(std::memory_order_relaxed);
    if (empty >= kEmptyChecks && (python_empty.fetch_add(1, std::memory_order_relaxed) % kEmptyChecks) != 0)
        return false;
    const SavedErrno kept;
    int count = 0;
    if (const char* fault = check_frames(the_interpreter, the_row, kFramesChecked, count)) {
        turn_python_off(fault);
        return report_why_off() != 0;
    }
    if (count == 0) python_empty.fetch_add(1, std::memory_order_relaxed);
    const uint32_t worth = count > 1 ? kChecksOfSeveral : static_cast<uint32_t>(count);
    if (python_checks.fetch_add(worth, std::memory_order_acq_rel) + worth >= kChecks)
        python_state.store(PythonState::sure, std::memory_order_release);
    return count != 0;
}

constexpr std::string_view kPackageFolders[] = {"/site-packages/", "/dist-packages/"};
constexpr std::string_view kPackages[] = {"ttmem/", "ttnn/", "torch/", "pytest/", "_pytest/", "pluggy/"};
constexpr std::string_view kSourceTrees[] = {"/src/ttmem/", "/ttnn/ttnn/", "/pytorch/torch/"};

constexpr std::string_view kFrozen = "<frozen ";   // modules of the interpreter itself: imports, and from 3.11 on runpy
constexpr std::string_view kRunner = "/runpy.py";  // `python -m`

bool begins_with(std::string_view text, std::string_view start) noexcept {
    return text.size() >= start.size() && std::memcmp(text.data(), start.data(), start.size()) == 0;
}

// What follows the last occurrence of `part`; nothing where it does not occur.
std::string_view after(std::string_view text, std::string_view part) noexcept {
    const size_t at = text.rfind(part);
    if (at == std::string_view::npos) return {};
    return {text.data() + at + part.size(), text.size() - at - part.size()};
}

}  // namespace

bool is_library_file(std::string_view path) noexcept {
    for (const std::string_view folder : kPackageFolders) {
        const std::string_view inside = after(path, folder);
        for (const std::string_view package : kPackages)
            if (begins_with(inside, package)) return true;
    }
    for (const std::string_view tree : kSourceTrees)
        if (!after(path, tree).empty()) return true;
    return begins_with(path, kFrozen) || after(path, kRunner).data() == path.data() + path.size();
}

std::string_view end_of_path(std::string_view path) noexcept {
    constexpr int kParts = 3;
    int parts = 0;
    for (size_t at = path.size(); at-- > 0;)
        if (path[at] == '/' && ++parts == kParts) return {path.data() + at + 1, path.size() - at - 1};
    return path;
}

const char* python_trouble() noexcept {
    Interpreter interpreter{};
    PythonRow row{};
    int count = 0;
    if (!find_interpreter(interpreter)) return kNoPython;
    if (const char* fault = row_of(interpreter, row)) return fault;
    if (const char* fault = check_row(interpreter, row)) return fault;
    if (const char* fault = check_frames(interpreter, row, kFramesChecked, count)) return fault;
    return count != 0 ? "" : "no frame was found";
}

uint64_t python_stack() noexcept {
    if (__builtin_expect(python_state.load(std::memory_order_acquire) != PythonState::sure, 0) && !check_python())
        return 0;
    return number_frames(the_interpreter, the_row, kFramesRead);
}

bool find_site(uint64_t number, uint32_t& site) noexcept {
    KnownStacks* known = of_this_journal(known_stacks);
    if (known == nullptr) return false;
    for (uint32_t at = static_cast<uint32_t>(number >> 40), probe = 0; probe < kKnownProbes; ++at, ++probe) {
        const KnownStack& place = known->places[at % kKnownStacks];
        const uint64_t seen = place.hash.load(std::memory_order_acquire);
        if (__builtin_expect(seen == number, 1)) {
            const uint64_t found = place.site.load(std::memory_order_acquire);
            site = static_cast<uint32_t>(found);
            return found != 0;
        }
        if (seen == 0) return false;
    }
    return false;
}

void keep_site(uint64_t number, uint32_t site) noexcept {
    KnownStacks* known = number == 0 ? nullptr : of_this_journal(known_stacks);
    KnownStack* place = known == nullptr ? nullptr : place_of_stack(*known, number);
    if (place != nullptr) place->site.store(kHasSite | site, std::memory_order_release);
}

uint32_t site_of_stack(uint64_t stack) noexcept {
    uint32_t site = 0;
    if (__builtin_expect(find_site(stack, site), 1)) return site;
    PythonFrame frames[kFramesRead];
    const int depth = read_frames(the_interpreter, the_row, frames, kFramesRead);
    site = new_site(frames, depth);
    keep_site(stack, site);
    return site;
}

uint32_t python_site() noexcept {
    const uint64_t stack = python_stack();
    return stack == 0 ? 0 : site_of_stack(stack);
}

}  // namespace ttmem
