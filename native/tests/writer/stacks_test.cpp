// Stacks: a tree of frames in a part of the journal of its own, made once, bounded, and read back from any journal.
#include "writer/stacks.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <string>
#include <thread>
#include <vector>

#include "interpreter/sites.hpp"
#include "support/check.hpp"
#include "support/journals.hpp"

namespace ttmem {
namespace {

uint32_t frame(uint32_t parent, const std::string& name, const std::string& file = "model.py", uint32_t line = 7) {
    return stack_node(parent, Node::frame, name, file, line);
}

/// A stack of three frames with one of its own.
uint32_t stack_numbered(uint32_t number) {
    return frame(frame(frame(0, "main"), "forward"), "layer", "model.py", number + 1);
}

uint64_t blocks_of(const char* path) {
    struct stat facts{};
    stat(path, &facts);
    return static_cast<uint64_t>(facts.st_blocks) * 512;
}

uint64_t nodes_used() { return the_writer.header->stack_nodes_used.load(); }

}  // namespace

TEST(a_site_is_the_path_from_its_node_to_the_outermost_frame) {
    track({64, 16});
    const uint32_t main = frame(0, "main", "model.py", 201), inner = frame(main, "Model.forward", "model.py", 118);
    const uint32_t tensor = stack_node(inner, Node::tensor, "1x1x32x32 bfloat16");
    const uint32_t operation = stack_node(tensor, Node::operation, "ttnn.matmul");
    auto reader = own_reader();
    const SitePath path = reader->site(operation);
    const SitePath expected{{{Node::operation, 0, "ttnn.matmul", ""},
                             {Node::tensor, 0, "1x1x32x32 bfloat16", ""},
                             {Node::frame, 118, "Model.forward", "model.py"},
                             {Node::frame, 201, "main", "model.py"}}};
    CHECK(path == expected);
    CHECK_EQUAL(reader->item(operation, Item::text), std::string("model.py:118 Model.forward\nmodel.py:201 main"));
}

TEST(the_same_arguments_give_the_same_site_and_each_other_one_its_own) {
    track({64, 16});
    const uint32_t one = frame(0, "f");
    CHECK_EQUAL(frame(0, "f"), one);
    const uint64_t before = nodes_used();
    std::map<uint32_t, int> seen{{one, 1}};
    for (const uint32_t other : {frame(0, "g"), frame(0, "f", "other.py"), frame(0, "f", "model.py", 8),
                                 frame(one, "f"), stack_node(0, Node::operation, "f", "model.py", 7)})
        ++seen[other];
    CHECK_EQUAL(seen.size(), size_t{6});
    CHECK_EQUAL(nodes_used(), before + 5);
}

TEST(threads_that_come_with_one_stack_at_once_agree_on_it) {
    track({64, 16});
    std::barrier start(4);
    std::vector<uint32_t> sites[4];
    std::vector<std::thread> threads;
    for (auto& mine : sites)
        threads.emplace_back([&start, &mine] {
            start.arrive_and_wait();
            for (uint32_t i = 0; i < 2000; ++i) mine.push_back(stack_numbered(i));
        });
    for (auto& thread : threads) thread.join();
    for (const auto& mine : sites) CHECK(mine == sites[0]);
    auto reader = own_reader();
    for (uint32_t i = 0; i < 2000; ++i)
        CHECK_EQUAL(reader->item(sites[0][i], Item::text),
                    "model.py:" + std::to_string(i + 1) + " layer\nmodel.py:7 forward\nmodel.py:7 main");
}

TEST(an_empty_part_costs_nothing_and_two_thousand_stacks_little) {
    track({64, 16});
    const uint64_t empty = blocks_of(ttmem_journal_path());
    CHECK(empty < plan_of({64, 16}).holes + 64 * 1024);
    for (uint32_t i = 0; i < 2000; ++i) stack_numbered(i);
    const uint64_t taken = blocks_of(ttmem_journal_path()) - empty;
    CHECK(taken > 0 && taken <= 128 * 1024);
    CHECK_EQUAL(the_writer.header->stacks_refused.load(), 0u);
}

TEST(beyond_its_room_a_site_says_other_and_nothing_else_is_lost) {
    track({64, 16});
    const uint32_t chip = open_chip(5);
    uint32_t refused = 0;
    for (uint32_t i = 0; i < kStackNodes + 100; ++i)
        refused += frame(0, "f", "model.py", i + 1) == kOtherSite ? 1u : 0u;
    CHECK_EQUAL(refused, 101u);  // the first node stands for "other"
    CHECK_EQUAL(the_writer.header->stacks_refused.load(), 101u);
    CHECK_EQUAL(frame(kOtherSite, "f"), kOtherSite);
    CHECK_EQUAL(the_writer.header->stacks_refused.load(), 101u);  // the stack was counted before
    CHECK_EQUAL(the_writer.header->arena_refused.load(), 0u);
    CHECK(open_chip(6) != chip && ttmem_intern("a name", 6) != 0);
    auto reader = own_reader();
    CHECK_EQUAL(reader->item(kOtherSite, Item::text), std::string("other"));
    CHECK_EQUAL(reader->item(kStackSite | (kStackNodes - 1), Item::text),
                "model.py:" + std::to_string(kStackNodes - 1) + " f");
    Hot hot;
    CHECK(reader->look(hot));
    CHECK_EQUAL(hot.stacks_refused, 101u);
}

TEST(texts_that_find_no_room_are_other_too) {
    track({64, 16});
    uint32_t refused = 0;
    for (uint32_t i = 0; i < 12'000; ++i) {
        std::string name(220, 'x');
        name += std::to_string(i);
        refused += frame(0, name) == kOtherSite ? 1u : 0u;
    }
    CHECK(refused > 0 && refused < 6000);
    CHECK_EQUAL(the_writer.header->stacks_refused.load(), uint64_t{refused});
    CHECK_EQUAL(the_writer.header->arena_refused.load(), 0u);
}

TEST(a_forked_child_starts_over) {
    track({64, 16});
    for (uint32_t i = 0; i < 100; ++i) stack_numbered(i);
    const uint64_t parents = nodes_used();
    const pid_t child = fork();
    if (child == 0) {
        report_buffer(0, 1, 1);
        CHECK_EQUAL(nodes_used(), 1u);
        const uint32_t own = frame(0, "in the child");
        CHECK_EQUAL(own_reader()->item(own, Item::text), std::string("model.py:7 in the child"));
        CHECK_EQUAL(nodes_used(), 2u);
        _exit(check::has_failed() ? 1 : 0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    CHECK_EQUAL(status, 0);
    CHECK_EQUAL(nodes_used(), parents);
}

TEST(long_names_are_cut_at_a_whole_character) {
    track({64, 16});
    std::string name;
    for (int i = 0; i < 200; ++i) name += "\xc3\xbc";
    const std::string kept = own_reader()->item(frame(0, name), Item::text);
    CHECK(kept.size() < name.size());
    CHECK_EQUAL(kept.substr(kept.size() - 2), std::string("\xc3\xbc"));
}

TEST(nothing_is_below_a_site_that_is_a_text) {
    track({64, 16});
    const uint32_t told = ttmem_intern("told", 4);
    CHECK_EQUAL(stack_node(told, Node::operation, "ttnn.add"), told);
    CHECK_EQUAL(ttmem_stack_node(told, 9, "x", nullptr, 0), told);
    CHECK(ttmem_stack_node(0, TTMEM_FRAME, "f", "model.py", 3) == frame(0, "f", "model.py", 3));
}

TEST(a_journal_that_leads_in_circles_is_read_to_an_end) {
    track({64, 16});
    const uint32_t one = frame(0, "one"), two = frame(one, "two");
    auto* nodes = reinterpret_cast<StackNode*>(reinterpret_cast<char*>(the_writer.header) +
                                               the_writer.header->identity.stack_nodes_offset);
    nodes[one & ~kStackSite].parent.store(two & ~kStackSite);
    CHECK_EQUAL(own_reader()->site(two).nodes.size(), size_t{2});
    nodes[two & ~kStackSite].name.store(~0u);
    nodes[two & ~kStackSite].file.store(kStackTextBytes / 8 - 1);
    CHECK_EQUAL(own_reader()->item(two, Item::text), std::string(":7 \nmodel.py:7 one"));
    nodes[two & ~kStackSite].kind_and_line.store(NodeWord{static_cast<Node>(15), 0}.pack());
    CHECK_EQUAL(own_reader()->site(two).nodes.size(), size_t{0});
    the_writer.header->stack_nodes_used.store(~0ull);
    CHECK(own_reader()->site(kStackSite | (kStackNodes + 5)).nodes.empty());
    CHECK(own_reader()->site(~0u).nodes.empty());
}

TEST(frames_of_libraries_are_known_by_their_files) {
    for (const char* file :
         {"/venv/lib/python3.12/site-packages/ttnn/decorators.py",
          "/venv/lib/python3.12/site-packages/torch/nn/modules/module.py",
          "/usr/lib/python3/dist-packages/_pytest/runner.py", "/venv/lib/python3.12/site-packages/pluggy/_hooks.py",
          "/opt/tt-metal/ttnn/ttnn/decorators.py", "<frozen runpy>", "/usr/lib/python3.10/runpy.py",
          "/srv/ttmem/src/ttmem/client/tracked/tracker.py",
          "/venv/lib/python3.10/site-packages/ttmem/client/phases.py"})
        CHECK(is_library_file(file));
    for (const char* file :
         {"/srv/ttnn/model.py", "/srv/runpy.py/model.py", "/opt/tt-metal/tests/ttnn/unit_tests/test_add.py", "model.py",
          "/opt/tt-metal/models/tt_transformers/tt/model.py", "<string>", "",
          "/venv/lib/python3.12/site-packages/transformers/modeling.py",
          "/venv/lib/python3.12/site-packages/torchvision/models/resnet.py"})
        CHECK(!is_library_file(file));
    CHECK_EQUAL(std::string(end_of_path("/opt/models/llama/tt/model.py")), std::string("llama/tt/model.py"));
    CHECK_EQUAL(std::string(end_of_path("tt/model.py")), std::string("tt/model.py"));
}

}  // namespace ttmem
