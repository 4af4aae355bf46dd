// The line for every kernel that is loaded, with the native stack below it: TT_METAL_KERNEL_BACKTRACE=1.
//
//   KERNEL_LOAD Backtrace (Device 0, Type: Fabric, Binary Size: 56 KB, Cores: 16, Total L1: 896 KB, ID: 0x3000)
//     #0 tt::tt_metal::detail::ProgramImpl::compile(tt::tt_metal::IDevice*, bool) libtt_metal.so+0x9a1b2c
//
// The same words as ttmem.client.tracked.kernel_log writes for a GraphTracker. On stderr, and never at the host's cost: what
// a reader does not take at once is left out and counted, and after kLoadsMost loads the log ends by itself.
#include <dlfcn.h>
#include <poll.h>
#include <unistd.h>
#include <unwind.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "hook/programs/programs.hpp"
#include "hook/runtime.hpp"

namespace ttmem::hook {
namespace kernel_log {
namespace {

constexpr uint32_t kLoadsMost = 1000, kFramesMost = 32;
constexpr int kDescriptor = 2;
constexpr char kSwitch[] = "TT_METAL_KERNEL_BACKTRACE";

enum class State : uint8_t { unknown, off, on };
std::atomic<State> state{State::unknown};
std::atomic<uint32_t> load_count{0};
std::atomic<uint64_t> left_out{0};

// errno is the host's.
class SavedErrno {
public:
    ~SavedErrno() { errno = before_; }

private:
    int before_ = errno;
};

bool is_on() noexcept {
    State known = state.load(std::memory_order_relaxed);
    if (__builtin_expect(known == State::unknown, 0)) {
        const char* said = getenv(kSwitch);
        const bool is_asked_for = said != nullptr && said[0] != '\0' && !(said[0] == '0' && said[1] == '\0');
        known = is_asked_for ? State::on : State::off;
        state.store(known, std::memory_order_relaxed);
    }
    return known == State::on;
}

// Lines that are written at once: a pipe that is ready takes so many bytes without a wait.
class Page {
public:
    template <class... Values>
    void add(const char* form, Values... values) noexcept {
        const int length = snprintf(text_ + length_, sizeof text_ - length_, form, values...);
        if (length > 0 && length_ + static_cast<uint32_t>(length) < sizeof text_)
            length_ += static_cast<uint32_t>(length);
    }
    bool is_nearly_full() const noexcept { return sizeof text_ - length_ < kLineMost; }

    void write() noexcept {
        pollfd ready{kDescriptor, POLLOUT, 0};
        if (poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0 || ::write(kDescriptor, text_, length_) < 0)
            left_out.fetch_add(1, std::memory_order_relaxed);
        length_ = 0;
    }

    static constexpr uint32_t kLineMost = 640;

private:
    char text_[4096];  // PIPE_BUF
    uint32_t length_ = 0;
};

const char* type_word(uint8_t kind) noexcept {
    switch (kind) {
        case TTMEM_KERNEL_FABRIC:
            return "Fabric";
        case TTMEM_KERNEL_DISPATCH:
            return "Dispatch";
        default:
            return "Application";
    }
}

void add_head(Page& page, int chip, const ttmem_kernel& kernel) noexcept {
    page.add(
        "\U0001f50d KERNEL_LOAD Backtrace (Device %d, Type: %s, Binary Size: %g KB, Cores: %u, Total L1: %g KB, ID: "
        "0x%llx)\n",
        chip, type_word(kernel.kind), static_cast<double>(kernel.binary_bytes) / 1024, kernel.core_count,
        static_cast<double>(kernel.exact_bytes) / 1024, static_cast<unsigned long long>(kernel.id));
}

struct Stack {
    Page& page;
    const void* own;  // where this library begins: its frames are left out
    uint32_t count = 0;
};

// A readable name if the host's runtime has the function for that; else the name as the library has it.
void add_frame(Stack& stack, const void* address, const Dl_info& found) noexcept {
    auto* demangle = getter_as<char*(const char*, char*, size_t*, int*)>(Getter::demangle);
    int status = 0;
    const char* name = found.dli_sname == nullptr ? "?" : found.dli_sname;
    char* readable =
        demangle == nullptr || found.dli_sname == nullptr ? nullptr : demangle(name, nullptr, nullptr, &status);
    const char* path = found.dli_fname == nullptr ? "?" : found.dli_fname;
    const char* slash = strrchr(path, '/');
    stack.page.add("  #%u %.480s %.80s+0x%llx\n", stack.count++, readable == nullptr ? name : readable,
                   slash == nullptr ? path : slash + 1,
                   static_cast<unsigned long long>(word_of(address) - word_of(found.dli_fbase)));
    free(readable);
}

_Unwind_Reason_Code see_frame(_Unwind_Context* frame, void* given) noexcept {
    Stack& stack = *static_cast<Stack*>(given);
    if (stack.count == kFramesMost) return _URC_END_OF_STACK;
    const auto* address = reinterpret_cast<const void*>(_Unwind_GetIP(frame));
    Dl_info found{};
    if (address == nullptr || dladdr(address, &found) == 0) found = {};
    if (found.dli_fbase == stack.own) return _URC_NO_REASON;
    if (stack.page.is_nearly_full()) stack.page.write();
    add_frame(stack, address, found);
    return _URC_NO_REASON;
}

// Slow dispatch compiles for one chip; others for their part of a mesh.
bool is_on_chip(const Program& program, uint32_t place) noexcept {
    const Mesh& mesh = *program.mesh;
    for (uint32_t i = 0; i < mesh.chip_count; ++i)
        if (mesh.devices[i] == program.device) return i == place;
    if (program.place.is_everywhere() || mesh.columns == 0) return true;
    const uint32_t row = place / mesh.columns, column = place % mesh.columns;
    return row >= program.place.row && row < program.place.row_end && column >= program.place.column &&
           column < program.place.column_end;
}

void add_load(Page& page, const Program& program, const ttmem_kernel& kernel) noexcept {
    for (uint32_t place = 0; place < program.mesh->chip_count; ++place) {
        if (!is_on_chip(program, place)) continue;
        if (page.is_nearly_full()) page.write();
        add_head(page, program.mesh->chips[place], kernel);
    }
    Dl_info own{};
    dladdr(static_cast<const void*>(kSwitch), &own);
    Stack stack{page, own.dli_fbase};
    _Unwind_Backtrace(see_frame, &stack);
}

}  // namespace
}  // namespace kernel_log

void log_kernel(const Program& program, const ttmem_kernel& kernel) noexcept {
    using namespace kernel_log;
    if (__builtin_expect(!is_on(), 1) || program.mesh == nullptr) return;
    const SavedErrno kept;
    Page page;
    const uint32_t count = load_count.fetch_add(1, std::memory_order_relaxed);
    if (count > kLoadsMost) return;
    if (count < kLoadsMost)
        add_load(page, program, kernel);
    else
        page.add("ttmem: %s: that is enough, later kernel loads are not shown; %llu pages were left out, nobody read\n",
                 kSwitch, static_cast<unsigned long long>(left_out.load(std::memory_order_relaxed)));
    page.write();
}

}  // namespace ttmem::hook
