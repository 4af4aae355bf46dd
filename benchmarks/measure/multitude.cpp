// Thousands of reporting processes: `multitude COUNT DIRECTORY`. Each holds one buffer of 4096 + its number bytes on one chip.
//
// Says "ready" when all have reported, "moved" after a line of input on which every 100th has made its buffer anew with one
// byte more, and ends with the input. Journals are as small as they can be and lose the pages that nobody uses: 0.4 MiB each.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "ttmem/client.h"

namespace {

constexpr int kEvery = 100;        // of so many one moves
constexpr int kInDirectory = 100;  // a new journal looks at all others in its directory

struct Member {
    pid_t pid;
    int orders;
};

[[noreturn]] void live(int number, const std::string& directory, int orders, int words) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    ttmem_enable(directory.c_str());
    ttmem_device device{};
    device.unique_id = 0x1A2B;
    device.arch = "wormhole_b0";
    ttmem_buffer buffer{};
    buffer.target = ttmem_device_open(&device);
    buffer.id = 1;
    buffer.reserved_bytes = 4096 + static_cast<uint64_t>(number);
    ttmem_handle handle = ttmem_buffer_alloc(&buffer);
    const char* path = ttmem_journal_path();
    if (handle == 0 || write(words, path, strlen(path) + 1) < 0) _exit(1);
    for (char order; read(orders, &order, 1) == 1;) {
        ttmem_free(handle);
        ++buffer.reserved_bytes;
        handle = ttmem_buffer_alloc(&buffer);
        if (write(words, &order, 1) != 1) _exit(1);
    }
    for (;;) pause();
}

std::string word_from(int words) {
    std::string word;
    for (char letter; read(words, &letter, 1) == 1 && letter != '\0';) word += letter;
    return word;
}

// Names and phases that nobody made are pages of zeros, and read the same when they are not there.
void thin_out(const std::string& path) {
    constexpr off_t kArena = 1 << 20, kPage = 4096;
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    struct stat facts{};
    if (file < 0 || fstat(file, &facts) != 0) return;
    fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, facts.st_size - kArena + kPage, kArena - kPage);
    close(file);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) return 2;
    const int members_wanted = atoi(arguments[1]);
    const std::string home = arguments[2];
    setenv("TTMEM_RING", "16", 1);
    setenv("TTMEM_TABLE", "64", 1);
    signal(SIGPIPE, SIG_IGN);
    int words[2];
    if (pipe(words) != 0) return 1;
    std::vector<Member> movers;
    std::vector<pid_t> others;
    for (int number = 0; number < members_wanted; ++number) {
        const std::string nest = home + "/nest" + std::to_string(number / kInDirectory);
        mkdir(nest.c_str(), 0700);
        int orders[2];
        if (pipe(orders) != 0) return 1;
        const pid_t child = fork();
        if (child < 0) return 1;
        if (child == 0) {
            close(orders[1]);
            for (const Member& mover : movers) close(mover.orders);
            live(number, nest, orders[0], words[1]);
        }
        close(orders[0]);
        if (number % kEvery == 0)
            movers.push_back({child, orders[1]});
        else
            close(orders[1]), others.push_back(child);
        const std::string path = word_from(words[0]);
        thin_out(path);
        if (rename(path.c_str(), (home + path.substr(path.rfind('/'))).c_str()) != 0) return 1;
    }
    puts("ready");
    fflush(stdout);
    for (char line[16]; fgets(line, sizeof line, stdin) != nullptr;) {
        char sign = '.';
        for (const Member& mover : movers)
            if (write(mover.orders, &sign, 1) != 1 || read(words[0], &sign, 1) != 1) return 1;
        puts("moved");
        fflush(stdout);
    }
    for (const Member& mover : movers) kill(mover.pid, SIGKILL);
    for (const pid_t other : others) kill(other, SIGKILL);
}
