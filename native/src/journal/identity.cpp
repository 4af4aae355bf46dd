#include "journal/identity.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "journal/clock.hpp"
#include "journal/environment.hpp"

namespace ttmem {
namespace {

uint64_t number_at(const char*& at) noexcept {
    uint64_t value = 0;
    while (*at >= '0' && *at <= '9') value = value * 10 + static_cast<uint64_t>(*at++ - '0');
    return value;
}

int hex_value(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

void read_boot_id(uint64_t (&boot)[2]) noexcept {
    char text[64];
    if (read_small_file("/proc/sys/kernel/random/boot_id", text, sizeof text) < 0) return;
    int digits = 0;
    for (const char* at = text; *at && digits < 32; ++at) {
        const int value = hex_value(*at);
        if (value < 0) continue;
        uint64_t& half = boot[digits / 16];
        half = half << 4 | static_cast<uint64_t>(value);
        ++digits;
    }
}

void read_command(char (&command)[256]) noexcept {
    const long length = read_small_file("/proc/self/cmdline", command, sizeof command);
    if (length <= 0) return;
    for (long i = 0; i < length - 1; ++i)
        if (command[i] == '\0') command[i] = ' ';
}

// `ttmem run` knows its processes by it, also those that are gone when it looks.
void read_run(char (&run)[136]) noexcept {
    const char* marks = environment("TTMEM_RUN");
    if (marks == nullptr || strnlen(marks, sizeof run) == sizeof run) return;
    std::memcpy(run, marks, strlen(marks) + 1);
}

}  // namespace

long read_small_file(const char* path, char* text, size_t room) noexcept {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    size_t length = 0;
    while (length < room - 1) {
        const ssize_t got = read(file, text + length, room - 1 - length);
        if (got <= 0) break;
        length += static_cast<size_t>(got);
    }
    close(file);
    text[length] = '\0';
    return static_cast<long>(length);
}

// A process whose first thread has ended shows as a zombie while its other threads live on.
pid_t other_thread_of(pid_t pid) noexcept {
    char path[48];
    alignas(8) char batch[4096];
    std::snprintf(path, sizeof path, "/proc/%d/task", static_cast<int>(pid));
    const int tasks = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (tasks < 0) return 0;
    pid_t other = 0;
    for (long got; other == 0 && (got = syscall(SYS_getdents64, tasks, batch, sizeof batch)) > 0;) {
        for (long at = 0; at < got && other == 0;) {
            uint16_t length;
            std::memcpy(&length, batch + at + 16,
                        sizeof length);  // of struct linux_dirent64: inode, offset, length, type, name
            const char* name = batch + at + 19;
            const auto task = static_cast<pid_t>(number_at(name));
            if (task != pid) other = task;
            at += length;
        }
    }
    close(tasks);
    return other;
}

uint64_t start_ticks_of(pid_t pid) noexcept {
    char path[48];
    char text[1024];
    std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
    if (read_small_file(path, text, sizeof text) <= 0) return 0;
    const char* at = std::strrchr(text, ')');  // the command may itself hold blanks and brackets
    if (at == nullptr || at[1] != ' ') return 0;
    at += 2;
    if ((*at == 'Z' || *at == 'X') && other_thread_of(pid) == 0) return 0;
    for (int field = 3; field < 22; ++field) {
        at = std::strchr(at, ' ');
        if (at == nullptr) return 0;
        ++at;
    }
    return number_at(at);
}

void identify_self(Identity& identity) noexcept {
    const pid_t pid = static_cast<pid_t>(syscall(SYS_getpid));  // never a cached one: we may be a raw clone
    identity.pid = static_cast<uint32_t>(pid);
    identity.uid = geteuid();
    identity.start_ticks = start_ticks_of(pid);
    struct stat ns{};
    if (stat("/proc/self/ns/pid", &ns) == 0) identity.pid_namespace = ns.st_ino;
    read_boot_id(identity.boot_id);
    if (getrandom(&identity.nonce, sizeof identity.nonce, GRND_NONBLOCK) != sizeof identity.nonce)
        identity.nonce = nanoseconds(CLOCK_REALTIME) ^ static_cast<uint64_t>(pid) << 32;
    read_command(identity.command);
    read_run(identity.run);
}

}  // namespace ttmem
