#include "writer/pages.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer/own_stack.hpp"
#include "writer/writer.hpp"

namespace ttmem {
namespace {

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif

constexpr int kTriesWhenInterrupted = 16;

enum class Answer { given, no_room, not_here };

bool is_journal(int file) noexcept {
    struct stat facts{};
    return file >= 0 && fstat(file, &facts) == 0 && facts.st_dev == the_writer.device &&
           facts.st_ino == the_writer.inode;
}

Answer ask(int file, uint64_t offset, uint64_t bytes) noexcept {
    for (int tries = 0; tries < kTriesWhenInterrupted; ++tries) {
        if (fallocate(file, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0)
            return Answer::given;
        if (errno == EINTR) continue;
        return errno == ENOSPC || errno == EDQUOT || errno == ENOMEM ? Answer::no_room : Answer::not_here;
    }
    return Answer::not_here;
}

// The host has closed the journal's own descriptor, and the lock that went with it is lost already: opening and closing
// another one costs nothing more.
Answer ask_by_path(uint64_t offset, uint64_t bytes) noexcept {
    const int file = open(the_writer.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) return Answer::not_here;
    const Answer answer = is_journal(file) ? ask(file, offset, bytes) : Answer::not_here;
    close(file);
    return answer;
}

// Answers with an error where writing would have ended the process.
bool touch(uint64_t offset, uint64_t bytes) noexcept {
    const auto system_page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    char* base = reinterpret_cast<char*>(the_writer.header);
    const uint64_t begin = offset / system_page * system_page;
    for (int tries = 0; tries < kTriesWhenInterrupted; ++tries) {
        if (madvise(base + begin, offset + bytes - begin, MADV_POPULATE_WRITE) == 0) return true;
        if (errno != EINTR && errno != EAGAIN) return false;
    }
    return false;
}

}  // namespace

__attribute__((noinline, cold)) bool ask_for_pages(uint64_t offset, uint64_t bytes) noexcept {
    const SavedErrno kept;
    if (bytes == 0 || offset >= the_writer.bytes || bytes > the_writer.bytes - offset) return false;
    Answer answer = is_journal(the_writer.file) ? ask(the_writer.file, offset, bytes) : ask_by_path(offset, bytes);
    if (answer == Answer::not_here) answer = touch(offset, bytes) ? Answer::given : Answer::no_room;
    return answer == Answer::given;
}

}  // namespace ttmem
