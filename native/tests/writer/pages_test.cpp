// Pages of the journal's holes: asked for, given or refused, and never a signal for the host.
#include "writer/pages.hpp"

#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.hpp"
#include "support/journals.hpp"

namespace ttmem {
namespace {

constexpr Sizes kTiny{64, 16};

uint64_t blocks() {
    struct stat facts{};
    REQUIRE(stat(ttmem_journal_path(), &facts) == 0);
    return static_cast<uint64_t>(facts.st_blocks) * 512;
}

char* at(uint64_t offset) { return reinterpret_cast<char*>(the_writer.header) + offset; }

}  // namespace

TEST(a_journal_begins_without_its_holes_and_takes_what_is_asked_for) {
    track(kTiny);
    const uint64_t before = blocks();
    CHECK_EQUAL(before, plan_of(kTiny).holes);
    errno = 77;
    CHECK(ask_for_pages(plan_of(kTiny).copies, 3 * kPage));
    CHECK_EQUAL(errno, 77);
    CHECK_EQUAL(blocks(), before + 3 * kPage);
    CHECK(ask_for_pages(plan_of(kTiny).copies, 3 * kPage));  // again
    CHECK_EQUAL(blocks(), before + 3 * kPage);
    *at(plan_of(kTiny).copies) = 1;
    CHECK(!ask_for_pages(plan_of(kTiny).file, 1));
    CHECK(!ask_for_pages(plan_of(kTiny).file - 1, 2));
}

TEST(a_host_that_closed_the_descriptor_still_gets_pages) {
    track(kTiny);
    close(the_writer.file);
    REQUIRE(dup2(STDERR_FILENO, the_writer.file) == the_writer.file);  // another process's now
    const uint64_t before = blocks();
    CHECK(ask_for_pages(plan_of(kTiny).copies, kPage));
    CHECK_EQUAL(blocks(), before + kPage);
    unlink(ttmem_journal_path());
    CHECK(ask_for_pages(plan_of(kTiny).stack_texts, 2 * kPage));
    *at(plan_of(kTiny).stack_texts + kPage) = 1;
}

TEST(a_full_file_system_refuses_pages_and_ends_nobody) {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        check::skip("no mount namespace of our own here");
    const std::string path = check::directory() + "/tiny";
    mkdir(path.c_str(), 0700);
    const std::string size = "size=" + std::to_string(plan_of(kTiny).holes + 16 * kPage);
    if (mount("tiny", path.c_str(), "tmpfs", 0, size.c_str()) != 0) check::skip("no file systems of our own here");
    chmod(path.c_str(), 0700);
    setenv("TTMEM_TABLE", "64", 1);
    setenv("TTMEM_RING", "16", 1);
    REQUIRE(ttmem_enable(path.c_str()) == 1);
    const uint64_t copies = plan_of(kTiny).copies;
    CHECK(ask_for_pages(copies, 4 * kPage));
    CHECK(!ask_for_pages(copies + 4 * kPage, 64 * kPage));
    close(the_writer.file);
    CHECK(!ask_for_pages(copies + 4 * kPage, 64 * kPage));
    unlink(ttmem_journal_path());
    CHECK(!ask_for_pages(copies + 4 * kPage, 64 * kPage));  // touched: an error, where writing would be a signal
}

}  // namespace ttmem
