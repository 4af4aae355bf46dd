// How a journal comes to be, where it refuses to, and which dead ones a starting writer clears away.
#include "journal/place.hpp"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <set>

#include "journal/dead_journals.hpp"
#include "journal/identity.hpp"
#include "journal/lock.hpp"
#include "support/check.hpp"
#include "support/journals.hpp"

namespace ttmem {
namespace {

constexpr Sizes kSmall{64, 16};

std::set<std::string> names_in(const std::string& path) {
    std::set<std::string> names;
    DIR* directory = opendir(path.c_str());
    REQUIRE(directory != nullptr);
    while (const dirent* entry = readdir(directory)) names.insert(entry->d_name);
    closedir(directory);
    names.erase(".");
    names.erase("..");
    return names;
}

std::string refusal(const std::string& path) {
    NewJournal journal;
    CHECK(!begin_journal(path.c_str(), kSmall, journal));
    CHECK_EQUAL(journal.directory, -1);
    CHECK_EQUAL(journal.file, -1);
    CHECK(journal.base == nullptr);
    return journal.message;
}

/// A pid that was a process's and is no process's now.
pid_t a_dead_pid() {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
    return child;
}

/// A file that looks like the journal of a process that ended at `age_s` seconds before now.
std::string leave_dead_journal(const std::string& path, int number, int age_s, off_t bytes, pid_t pid,
                               uint64_t incidents = 0) {
    const std::string name = std::to_string(pid) + "-1-" + std::to_string(number) + ".journal";
    const int file = open((path + "/" + name).c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    Identity identity{};
    identify_self(identity);
    identity.magic = kMagic;
    identity.version = kVersion;
    identity.pid = static_cast<uint32_t>(pid);
    identity.start_ticks = 1;
    REQUIRE(file >= 0 && pwrite(file, &identity, sizeof identity, 0) == sizeof identity);
    REQUIRE(pwrite(file, &incidents, sizeof incidents, offsetof(Header, incidents)) == sizeof incidents);
    if (fallocate(file, 0, 0, bytes) != 0) check::skip("no room here for large files");
    timespec times[2]{};
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= age_s;
    times[1] = times[0];
    futimens(file, times);
    close(file);
    return name;
}

Cleared clear_away(const std::string& path, const ClearingBounds& bounds = {}) {
    const int directory = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const Cleared done = remove_dead_journals(directory, geteuid(), bounds);
    close(directory);
    return done;
}

void leave_junk(const std::string& path, int count, uid_t uid) {
    for (int i = 0; i < count; ++i) {
        const std::string name = path + "/" + std::to_string(i) + "-1-junk.journal";
        const int file = open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
        REQUIRE(file >= 0 && ftruncate(file, 8192) == 0 && fchown(file, uid, uid) == 0);
        close(file);
    }
}

/// From here on, O_TMPFILE is refused as file systems do that lack it.
void forbid_unnamed_files() {
    constexpr uint32_t kFlags = offsetof(seccomp_data, args) + 2 * sizeof(uint64_t),
                       kUnnamed = O_TMPFILE & ~O_DIRECTORY;
    sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFlags),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kUnnamed, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{sizeof rules / sizeof rules[0], rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        check::skip("no filters of system calls here");
}

void check_creation_in(const std::string& path) {
    NewJournal journal;
    REQUIRE(begin_journal(path.c_str(), kSmall, journal));
    for (const std::string& name : names_in(path)) CHECK(name[0] == '.');  // nothing that a viewer would open
    REQUIRE(name_journal(journal));
    const std::string own = std::to_string(getpid()) + "-" + std::to_string(start_ticks_of(getpid())) + "-";
    CHECK_EQUAL(std::string(journal.name).substr(0, own.size()), own);
    char end[24];
    std::snprintf(end, sizeof end, "%08x.journal",
                  static_cast<unsigned>(static_cast<const Header*>(journal.base)->identity.nonce));
    CHECK_EQUAL(std::string(journal.name), own + end);
    CHECK(names_in(path) == std::set<std::string>{journal.name});
    CHECK_EQUAL(std::string(journal.path), path + "/" + journal.name);
    struct stat facts{};
    CHECK(stat(journal.path, &facts) == 0);
    CHECK_EQUAL(facts.st_mode & 07777, 0600u);
    CHECK_EQUAL(static_cast<uint64_t>(facts.st_size), plan_of(kSmall).file);
    CHECK(static_cast<uint64_t>(facts.st_blocks) * 512 >= plan_of(kSmall).holes);  // reserved: no SIGBUS later
    CHECK_EQUAL(facts.st_ino, journal.inode);
}

}  // namespace

TEST(a_journal_appears_whole_locked_and_private) {
    const std::string path = check::directory() + "/new";
    check_creation_in(path);
    struct stat facts{};
    CHECK(stat(path.c_str(), &facts) == 0);
    CHECK_EQUAL(facts.st_mode & 07777, 0700u);
}

TEST(a_named_journal_is_locked_by_its_maker) {
    NewJournal journal;
    REQUIRE(begin_journal(check::directory().c_str(), kSmall, journal) && name_journal(journal));
    const pid_t maker = getpid();
    const pid_t child = fork();
    if (child == 0) {
        const int file = open(journal.path, O_RDONLY | O_CLOEXEC);
        _exit(lock_holder(file) == maker ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    CHECK_EQUAL(status, 0);
}

TEST(an_abandoned_journal_leaves_nothing_behind) {
    NewJournal journal;
    REQUIRE(begin_journal(check::directory().c_str(), kSmall, journal));
    abandon_journal(journal);
    CHECK(names_in(check::directory()).empty());
}

TEST(the_environment_names_the_directory_when_nobody_else_does) {
    const std::string path = check::directory() + "/chosen";
    setenv("TTMEM_DIR", path.c_str(), 1);
    REQUIRE(ttmem_enable(nullptr) == 1);
    CHECK_EQUAL(std::string(ttmem_journal_path()).substr(0, path.size()), path);
}

TEST(sizes_of_the_environment_are_rounded_up_and_bounded) {
    setenv("TTMEM_TABLE", "100", 1);
    setenv("TTMEM_RING", "3", 1);
    REQUIRE(ttmem_enable(check::directory().c_str()) == 1);
    CHECK_EQUAL(the_writer.table, 128u);
    CHECK_EQUAL(the_writer.ring_mask, 15u);
}

TEST(a_file_in_the_place_of_the_directory_is_refused) {
    const std::string path = check::directory() + "/file";
    close(open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    CHECK(refusal(path).find(path) == 0);
}

TEST(a_link_in_the_place_of_the_directory_is_refused) {
    const std::string real = check::directory() + "/real", link = check::directory() + "/link";
    CHECK(mkdir(real.c_str(), 0700) == 0 && symlink(real.c_str(), link.c_str()) == 0);
    CHECK(refusal(link).find(link) == 0);
    CHECK(names_in(real).empty());
}

TEST(a_directory_that_cannot_be_made_is_refused) { CHECK(!refusal(check::directory() + "/no/such").empty()); }

TEST(a_path_too_long_to_keep_is_refused_and_nothing_is_made_elsewhere) {
    std::string path = check::directory();
    while (path.size() < 520) {
        path += "/" + std::string(100, 'x');
        CHECK(mkdir(path.c_str(), 0700) == 0);
    }
    CHECK(!refusal(path + "/journals").empty());
    CHECK(names_in(path).empty());
}

TEST(a_directory_of_another_user_is_refused) {
    if (geteuid() != 0) check::skip("only root can make a directory of another user");
    const std::string path = check::directory() + "/others";
    CHECK(mkdir(path.c_str(), 0777) == 0 && chown(path.c_str(), 4711, 4711) == 0);
    CHECK(!refusal(path).empty());
    CHECK(names_in(path).empty());
}

TEST(a_directory_that_may_not_be_written_is_refused) {
    const std::string path = check::directory() + "/closed";
    CHECK(mkdir(path.c_str(), 0500) == 0);
    const bool is_root = geteuid() == 0;  // who may write anywhere
    if (is_root && (chown(path.c_str(), 4711, 4711) != 0 || seteuid(4711) != 0)) check::skip("no other user to be");
    CHECK(!refusal(path).empty());
    if (is_root) CHECK(seteuid(0) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0);  // as before, for what looks for leaks
}

TEST(a_full_file_system_refuses_tracking_and_the_program_runs_on) {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        check::skip("no mount namespace of our own here");
    const std::string path = check::directory() + "/tiny";
    CHECK(mkdir(path.c_str(), 0700) == 0);
    if (mount("tiny", path.c_str(), "tmpfs", 0, "size=256k") != 0) check::skip("no file systems of our own here");
    CHECK(refusal(path).find("No space left") != std::string::npos);
    CHECK(names_in(path).empty());
    CHECK_EQUAL(ttmem_enable(path.c_str()), 0);
    CHECK_EQUAL(open_chip(1), 0u);
    CHECK_EQUAL(report_buffer(1, 1, 1), 0u);
    CHECK_EQUAL(std::string(ttmem_journal_path()), std::string());
}

TEST(a_file_system_without_unnamed_files_serves_too) {
    forbid_unnamed_files();
    NewJournal journal;
    REQUIRE(begin_journal(check::directory().c_str(), kSmall, journal));
    CHECK(journal.has_dot_name);
    abandon_journal(journal);
    CHECK(names_in(check::directory()).empty());
    check_creation_in(check::directory());
}

TEST(the_newest_sixteen_dead_journals_stay) {
    const pid_t pid = a_dead_pid();
    std::set<std::string> newest;
    for (int i = 0; i < 20; ++i) {
        const std::string name = leave_dead_journal(check::directory(), i, 1000 + i * 7 % 20, 4096, pid);
        if (i * 7 % 20 < 16) newest.insert(name);
    }
    clear_away(check::directory());
    CHECK(names_in(check::directory()) == newest);
}

TEST(the_newest_eight_dead_journals_with_incidents_stay_beside_the_newest_sixteen_others) {
    const pid_t pid = a_dead_pid();
    std::set<std::string> kept;
    for (int i = 0; i < 12; ++i) {  // older than all others
        const std::string name = leave_dead_journal(check::directory(), i, 5000 + i * 5 % 12, 4096, pid, 3);
        if (i * 5 % 12 < 8) kept.insert(name);
    }
    for (int i = 0; i < 20; ++i) {
        const std::string name = leave_dead_journal(check::directory(), 100 + i, 1000 + i * 7 % 20, 4096, pid);
        if (i * 7 % 20 < 16) kept.insert(name);
    }
    clear_away(check::directory());
    CHECK(names_in(check::directory()) == kept);
}

TEST(dead_journals_with_incidents_are_bounded_in_bytes_too_and_go_last) {
    const pid_t pid = a_dead_pid();
    std::set<std::string> kept;
    for (int i = 0; i < 5; ++i) {
        const std::string name = leave_dead_journal(check::directory(), i, 1000 + i, 60 << 20, pid, 1);
        if (i < 4) kept.insert(name);
    }
    leave_dead_journal(check::directory(), 9, 10, 60 << 20, pid);
    clear_away(check::directory());
    CHECK(names_in(check::directory()) == kept);
}

TEST(where_room_is_short_dead_journals_with_incidents_go_last) {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        check::skip("no mount namespace of our own here");
    const std::string path = check::directory() + "/tiny";
    CHECK(mkdir(path.c_str(), 0700) == 0);
    const off_t one = static_cast<off_t>(plan_of(kSmall).holes);
    const std::string size = "size=" + std::to_string(3 * one + 4096);
    if (mount("tiny", path.c_str(), "tmpfs", 0, size.c_str()) != 0) check::skip("no file systems of our own here");
    chmod(path.c_str(), 0700);
    const pid_t pid = a_dead_pid();
    const std::string old = leave_dead_journal(path, 1, 2000, one, pid, 1);
    const std::string young = leave_dead_journal(path, 2, 1000, one, pid, 1);
    leave_dead_journal(path, 3, 10, one, pid);
    NewJournal first, second;
    REQUIRE(begin_journal(path.c_str(), kSmall, first));
    CHECK(names_in(path) == (std::set<std::string>{old, young}));
    REQUIRE(begin_journal(path.c_str(), kSmall, second));
    CHECK(names_in(path) == std::set<std::string>{young});
    abandon_journal(first);
    abandon_journal(second);
}

TEST(dead_journals_beyond_256_mib_go) {
    const pid_t pid = a_dead_pid();
    for (int i = 0; i < 5; ++i) leave_dead_journal(check::directory(), i, 1000 + i, 60 << 20, pid);
    clear_away(check::directory());
    CHECK_EQUAL(names_in(check::directory()).size(), 4u);
}

TEST(a_live_journal_stays_however_old_and_whatever_its_owner_did) {
    const pid_t pid = a_dead_pid();
    for (int i = 0; i < 20; ++i) leave_dead_journal(check::directory(), i, 10, 4096, pid);
    int ready[2], leave[2];
    REQUIRE(pipe(ready) == 0 && pipe(leave) == 0);
    std::set<pid_t> children;
    for (const bool closes_everything : {false, true}) {
        const pid_t child = fork();
        if (child == 0) {
            close(leave[1]);
            track(kSmall);
            const timespec old[2] = {{1'000'000, 0}, {1'000'000, 0}};
            utimensat(AT_FDCWD, ttmem_journal_path(), old, 0);
            for (int file = 3; closes_everything && file < 64; ++file)
                if (file != ready[1] && file != leave[0]) close(file);
            char sign = 'r';
            if (write(ready[1], &sign, 1) != 1) _exit(1);
            if (read(leave[0], &sign, 1) != 0) _exit(1);
            _exit(0);
        }
        children.insert(child);
    }
    char signs[2];
    for (char& sign : signs) CHECK_EQUAL(read(ready[0], &sign, 1), 1);
    close(leave[0]);
    clear_away(check::directory());
    size_t live = 0, dead = 0;
    for (const std::string& name : names_in(check::directory())) ++(children.count(std::stoi(name)) != 0 ? live : dead);
    CHECK_EQUAL(live, 2u);
    CHECK_EQUAL(dead, 16u);
    close(leave[1]);
    for (const pid_t child : children) waitpid(child, nullptr, 0);
}

TEST(files_of_others_are_not_opened_and_of_many_only_some_are_examined) {
    if (geteuid() != 0) check::skip("only root can make files of another user");
    leave_junk(check::directory(), 9000, 4711);
    for (int i = 0; i < 20; ++i) leave_dead_journal(check::directory(), i, 1000 + i, 4096, a_dead_pid());
    const Cleared done = clear_away(check::directory());
    CHECK_EQUAL(done.listed, 8192u);
    CHECK_EQUAL(done.examined, 512u);
    CHECK(done.opened <= 20u);
}

TEST(every_start_gets_to_other_files_until_all_were_examined) {
    const pid_t pid = a_dead_pid();
    leave_junk(check::directory(), 1500, geteuid());
    for (int i = 0; i < 100; ++i) leave_dead_journal(check::directory(), i, 1000 + i, 4096, pid);
    uint32_t removed = 0;
    for (int starts = 0; starts < 10'000 && removed < 50; ++starts) {
        const Cleared done = clear_away(check::directory());
        CHECK_EQUAL(done.examined, 512u);
        CHECK(done.opened <= 512u);
        removed += done.removed;
    }
    CHECK(removed >= 50u);
}

TEST(one_start_removes_sixty_four_dead_journals_at_most) {
    const pid_t pid = a_dead_pid();
    for (int i = 0; i < 200; ++i) leave_dead_journal(check::directory(), i, 1000 + i, 4096, pid);
    CHECK_EQUAL(clear_away(check::directory()).removed, 64u);
    CHECK_EQUAL(clear_away(check::directory(), kMakeRoom).removed, 64u);
}

TEST(what_is_not_a_dead_journal_of_ours_is_not_touched) {
    const pid_t pid = a_dead_pid();
    const std::string& path = check::directory();
    for (int i = 0; i < 17; ++i) leave_dead_journal(path, i, 10, 4096, pid);
    std::set<std::string> others = {"1-1-zeros.journal", "notes.txt", ".1-1-half.journal"};
    for (const std::string& name : others)
        close(open((path + "/" + name).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    CHECK(symlink("/etc/passwd", (path + "/1-1-link.journal").c_str()) == 0);
    CHECK(mkdir((path + "/1-1-directory.journal").c_str(), 0700) == 0);
    CHECK(mkfifo((path + "/1-1-pipe.journal").c_str(), 0600) == 0);
    others.insert({"1-1-link.journal", "1-1-directory.journal", "1-1-pipe.journal"});
    if (geteuid() == 0) {
        const std::string name = leave_dead_journal(path, 99, 100'000, 4096, pid);
        CHECK(chown((path + "/" + name).c_str(), 4711, 4711) == 0);
        others.insert(name);
    }
    clear_away(path);
    const std::set<std::string> left = names_in(path);
    for (const std::string& name : others) CHECK(left.count(name) == 1);
    CHECK_EQUAL(left.size(), others.size() + 16);
}

}  // namespace ttmem
