// A program that uses the stand-in as Python uses the runtime: loaded at run time and privately, never linked to it.
//
// Orders come line by line on standard input, each is answered by one line. Those that are not listed here go to the
// loaded copy in use (see script/script.cpp).
//
//   load NAME PATH [PATH]   loads a copy, with a second library through which it launches; it is in use from now on
//   use NAME                unload NAME
//   on NUMBER ORDER         on a thread of its own, which lives on and gets all orders of that number
//   together COUNT ORDER    on so many threads at once; "%" in the order becomes the thread's number
//   start COUNT ORDER       the same, without waiting; until finish COUNT
//   fork ORDER; ORDER ...   in a forked child, which then leaves without exit handlers; answers all of its answers
//   become                  starts over by exec
//   tracking on|off         as ttmem.enable() and ttmem.disable() do it
//   counted ORDER           the order's system calls and allocations of memory, after its answer
//   exit                    ends in the ordinary way
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

// ---- what an order costs; counted on the one thread that obeys it

bool is_counting;
unsigned long allocation_count;
volatile sig_atomic_t system_call_count;

void count_system_call(int, siginfo_t*, void* context) {
    system_call_count = system_call_count + 1;
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RAX] = -ENOSYS;
}

// A filter of the kernel hands every call but those named below to the handler; it stays until the process ends.
void stop_system_calls() {
    struct sigaction action{};
    action.sa_sigaction = count_system_call;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSYS, &action, nullptr);
    sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{sizeof rules / sizeof *rules, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        std::exit(77);
}

// ---- copies of the stand-in

constexpr size_t kAnswerRoom = 1 << 16;

struct Copy {
    std::string name;
    void* libraries[2] = {};
    void (*obey)(const char*, char*, size_t) = nullptr;
};
Copy copies[4];
Copy* in_use;

Copy* copy_named(const std::string& name) {
    for (auto& copy : copies)
        if (copy.name == name) return &copy;
    return nullptr;
}

std::string load(const std::string& name, const std::string& runtime, const std::string& operations) {
    Copy* const copy = copy_named("");
    copy->libraries[0] = dlopen(runtime.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (copy->libraries[0] == nullptr) return dlerror();
    copy->name = name;
    copy->obey = reinterpret_cast<decltype(copy->obey)>(dlsym(copy->libraries[0], "fake_obey"));
    in_use = copy;
    if (operations.empty()) return "loaded";
    copy->libraries[1] = dlopen(operations.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (copy->libraries[1] == nullptr) return dlerror();
    const auto choose = reinterpret_cast<void (*)(void*)>(dlsym(copy->libraries[0], "fake_enqueue_by"));
    choose(dlsym(copy->libraries[1], "fake_operations_enqueue"));
    return "loaded";
}

std::string unload(const std::string& name) {
    Copy* const copy = copy_named(name);
    for (void* library : {copy->libraries[1], copy->libraries[0]})
        if (library != nullptr) dlclose(library);
    *copy = Copy{};
    return "unloaded";
}

std::string asked(const std::string& order) {
    static thread_local char answer[kAnswerRoom];
    in_use->obey(order.c_str(), answer, sizeof answer);
    return answer;
}

// ---- threads

constexpr int kThreadsMost = 16;

// Obeys one order at a time; once started it lives until the process ends.
struct Worker {
    sem_t ordered, answered;
    std::string order, answer;
    pthread_t thread;
    bool is_started = false;
};
Worker workers[kThreadsMost];

void* work(void* given) {
    for (auto& worker = *static_cast<Worker*>(given);; sem_post(&worker.answered)) {
        while (sem_wait(&worker.ordered) != 0) {
        }
        worker.answer = asked(worker.order);
    }
    return nullptr;
}

void give(Worker& worker, const std::string& order) {
    if (!worker.is_started) {
        worker.is_started = true;
        sem_init(&worker.ordered, 0, 0);
        sem_init(&worker.answered, 0, 0);
        pthread_create(&worker.thread, nullptr, work, &worker);
    }
    worker.order = order;
    sem_post(&worker.ordered);
}

std::string answer_of(Worker& worker) {
    while (sem_wait(&worker.answered) != 0) {
    }
    return worker.answer;
}

std::string on_thread(int number, const std::string& order) {
    give(workers[number], order);
    return answer_of(workers[number]);
}

std::string start(int count, const std::string& order) {
    for (int i = 0; i < count; ++i) {
        std::string own = order;
        if (const auto at = own.find('%'); at != std::string::npos) own.replace(at, 1, std::to_string(i + 1));
        give(workers[i], own);
    }
    return "started";
}

std::string finish(int count) {
    std::string last;
    for (int i = 0; i < count; ++i) last = answer_of(workers[i]);
    return last;
}

// ---- processes

size_t least(size_t one, size_t other) { return one < other ? one : other; }

std::string in_child(const std::string& orders) {
    int ends[2];
    if (pipe(ends) != 0) return "no pipe";
    const pid_t child = fork();
    if (child == 0) {
        std::string all;
        for (size_t at = 0; at < orders.size();) {
            const size_t end = least(orders.find(';', at), orders.size());
            all += asked(orders.substr(at, end - at)) + "|";
            at = end + 1;
        }
        _exit(write(ends[1], all.data(), all.size()) < 0);
    }
    close(ends[1]);
    std::string answers(kAnswerRoom, '\0');
    const ssize_t length = read(ends[0], answers.data(), answers.size());
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return std::to_string(status) + " " + answers.substr(0, length < 0 ? 0 : static_cast<size_t>(length));
}

// ---- the switch of the preloaded library, in the table that it exports

std::string set_tracking(bool is_on) {
    struct Table {
        unsigned version, bytes;
        int (*enable)(const char*);
        void (*disable)();
    };
    const auto* table = static_cast<const Table*>(dlsym(RTLD_DEFAULT, "ttmem_writer_v1"));
    if (table == nullptr) return "nobody tracks";
    if (is_on) return table->enable(nullptr) != 0 ? "on" : "off";
    table->disable();
    return "off";
}

// The last order: there are no system calls afterwards.
[[noreturn]] void obey_counted(const std::string& order) {
    stop_system_calls();
    if (syscall(SYS_getppid) != -1 || system_call_count != 1) _exit(78);  // the filter does not count
    system_call_count = 0;
    is_counting = true;
    const std::string answer = asked(order);
    is_counting = false;
    const std::string all =
        answer + " " + std::to_string(system_call_count) + " " + std::to_string(allocation_count) + "\n";
    _exit(write(1, all.data(), all.size()) < 0);
}

// ---- orders

std::string word_of(std::string& line) {
    const size_t end = least(line.find(' '), line.size());
    const std::string word = line.substr(0, end);
    line.erase(0, least(end + 1, line.size()));
    return word;
}

std::string obey(std::string line, char** arguments) {
    const std::string whole = line, order = word_of(line);
    if (order == "load") {
        const std::string name = word_of(line), runtime = word_of(line);
        return load(name, runtime, line);
    }
    if (order == "use") return in_use = copy_named(line), "in use";
    if (order == "unload") return unload(line);
    if (order == "on") {
        const int number = std::stoi(word_of(line));
        return on_thread(number, line);
    }
    if (order == "start" || order == "together") {
        const int count = std::stoi(word_of(line));
        const std::string answer = start(count, line);
        return order == "start" ? answer : finish(count);
    }
    if (order == "finish") return finish(std::stoi(line));
    if (order == "fork") return in_child(line);
    if (order == "become") execv("/proc/self/exe", arguments);
    if (order == "tracking") return set_tracking(line == "on");
    if (order == "counted") obey_counted(line);
    if (order == "exit") std::exit(0);
    return asked(whole);
}

}  // namespace

// These come before the C library's for everybody in this process. A sanitizer has its own, and is not counted.
#ifndef TTMEM_SANITIZED
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* malloc(size_t bytes) {
    if (is_counting) ++allocation_count;
    return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
    if (is_counting) ++allocation_count;
    return __libc_calloc(count, bytes);
}
void* realloc(void* old, size_t bytes) {
    if (is_counting) ++allocation_count;
    return __libc_realloc(old, bytes);
}
}
#endif

int main(int, char** arguments) {
    mallopt(M_TRIM_THRESHOLD, 1 << 30);  // what was had once stays: the system is not asked for it again
    setvbuf(stdout, nullptr, _IOLBF, 0);
    std::puts("ready");
    static char line[kAnswerRoom];
    while (std::fgets(line, sizeof line, stdin) != nullptr) {
        line[std::strcspn(line, "\n")] = '\0';
        std::puts(obey(line, arguments).c_str());
    }
    return 0;
}
