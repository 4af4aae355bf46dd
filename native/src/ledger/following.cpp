// How often journals are looked into while run() follows them, and how deaths are noticed meanwhile.
//
// A journal that had news a moment ago is looked into in every pass. One that keeps silent costs a system call each time,
// and two hundred of them would cost a tenth of a core at that pace: they take turns, a limited number of looks a second. As
// soon as any process has news all are looked into as often as few would be, so that what happened on a chip is counted in
// the order in which it happened. Anyone who asks for figures drains first and never waits for a turn.
//
// Journals beyond what descriptors allow are visited: opened, asked for life and news, and closed, 2,000 a second and each
// once a second at least. Anyone who has news when it is visited takes the place of one that has had none for long.
// What is given up: a death is noticed at the next visit, not at once; a fast writer may have overwritten its ring by then
// (the live state and the counters make that exact again); and a chip's peak between two visits may have been higher.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <tuple>

#include "ledger/collector.hpp"
#include "reader/liveness.hpp"

namespace ttmem {
namespace {

constexpr uint64_t kLivelyNs = 50 * kMs;     // who had news within that time is looked into in every pass
constexpr uint64_t kTurnNs = 4 * kMs;        // others after that time,
constexpr uint64_t kTurnMostNs = 200 * kMs;  // or later if there are many: but rings must hold what comes meanwhile
constexpr uint64_t kSilentLookNs = 200'000;  // 5,000 looks a second
constexpr uint64_t kUnwatchedLifeNs =
    20 * kMs;  // how often to ask whether a process lives whose death no process would say
constexpr uint64_t kWatchedLifeNs = 60 * kMs;       // ... and of others: they may have become another program
constexpr uint64_t kUnverifiedLifeNs = 1000 * kMs;  // ... and of journals that count nowhere: any process can make many
constexpr int kDeathsAtOnce = 64;

void set_trust(Process& process, bool is_verified) {
    process.book.set_trust(!is_verified ? Trust::nobody : process.uid == 0 ? Trust::root : Trust::user);
}

}  // namespace

Collector::Collector(bool tap) : has_tap_(tap), deaths_(epoll_create1(EPOLL_CLOEXEC)) { timebase_.refresh(); }

Collector::~Collector() {
    if (deaths_ >= 0) close(deaths_);
}

// Once only: who still counts as alive then (another process holds its lock) is asked in turns again.
void Collector::watch(Process& process) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLONESHOT;
    event.data.u64 = process.key;
    if (deaths_ < 0 || epoll_ctl(deaths_, EPOLL_CTL_ADD, process.pidfd, &event) != 0) {
        close(process.pidfd);
        process.pidfd = -1;
    }
}

void Collector::check_life(Process& process, uint64_t now) {
    process.checked_ns = now;
    if (process.file == nullptr || !reach(process, now)) return;  // our own: alive as long as we ask
    const bool is_holder = process.is_verified && !process.has_lost_lock && process.known_pid > 0;
    const KnownWriter known{process.known_pid, process.uid, process.start_ticks, is_holder,
                            is_holder && process.pidfd >= 0};
    const Liveness life = liveness_of(process.file->file(), process.reader->identity(), known);
    const auto shown = [&] { return std::tuple(process.is_visible, process.has_lost_lock, process.pid, process.uid); };
    const auto before = shown();
    process.has_lost_lock = life.has_lost_lock;
    if (!life.is_alive) {
        conclude(process, life);
        ++process.figures;
        return;
    }
    process.is_visible = life.pid > 0;
    process.uid = life.uid;
    process.is_seen |= life.is_verified;
    if (life.is_verified) process.start_ticks = life.start_ticks;
    if (life.pid > 0) process.known_pid = life.pid;
    if (life.pid > 0) process.pid = static_cast<uint32_t>(life.pid);
    set_trust(process, life.is_verified);
    verify(process, life.is_verified);
    if (process.pidfd < 0 && life.pid > 0 && !process.has_fallen && process.file->is_kept()) {
        process.pidfd = open_pidfd(life.pid);
        if (process.pidfd >= 0) watch(process);
    }
    process.figures += before != shown();
}

// Its writer is dead. Whom the kernel has confirmed before keeps its name, even if another process has its number by now.
void Collector::conclude(Process& process, const Liveness& life) {
    process.ended_ns = nanoseconds(CLOCK_REALTIME);
    if (process.is_seen || !process.is_verified) return;
    process.is_visible = life.pid > 0;
    process.is_claimed = life.is_claimed;
    if (life.pid > 0) process.pid = static_cast<uint32_t>(life.pid);
    set_trust(process, life.is_verified);
    if (!life.is_verified) verify(process, false);
}

// A process may have got the number that a dead journal's header claims: then that is not shown any more.
void Collector::doubt_claims() {
    for (auto& process : processes_)
        if (process->is_claimed && is_pid_in_use(static_cast<pid_t>(process->pid))) {
            forgotten_.add(*process, devices_);  // what has happened has happened: sums never fall
            process->is_claimed = process->is_visible = false;
            ++process->figures;
            verify(*process, false);
        }
}

// A journal that no process is known to have written is shown under no pid, pairs with none, and counts nowhere.
void Collector::verify(Process& process, bool is_verified) {
    if (!is_verified) {
        process.pid = 0;
        process.known_pid = 0;
        process.start_ticks = process.pid_namespace = 0;
        if (process.pidfd >= 0) close(process.pidfd);
        process.pidfd = -1;
    }
    if (process.is_verified == is_verified) return;
    process.is_verified = is_verified;
    ++process.figures;
    if (!is_verified) {
        for (auto& other : processes_)
            if (other->shadowed_by == process.key) shadow(*other, nullptr);
        process.other = 0;
        process.book.hold_log(process.reader->position(), ~uint64_t{0});
        return process.book.leave();
    }
    if (process.is_over()) return;
    process.pid_namespace = process.reader->identity().pid_namespace;
    const uint64_t now_ns = nanoseconds(CLOCK_REALTIME);
    process.book.rejoin(now_ns);
    scan(process, now_ns,
         process.reader->position());  // leaving had closed its targets: the journal says which are open
    pair_ways(process);
}

// Who wrote another journal before has become another program, if it is the same process: that is no death that the
// kernel would say, and is asked for at the next pass.
void Collector::doubt_lives_before(const Process& process) {
    for (auto& earlier : processes_)
        if (earlier->known_pid == process.known_pid && process.known_pid > 0) earlier->checked_ns = 0;
}

void Collector::look_for_deaths(uint64_t now) {
    epoll_event events[kDeathsAtOnce];
    const int count = deaths_ < 0 ? 0 : epoll_wait(deaths_, events, kDeathsAtOnce, 0);
    for (int i = 0; i < count; ++i)
        for (auto& process : processes_)
            if (process->key == events[i].data.u64 && process->pidfd >= 0) {
                close(process->pidfd);
                process->pidfd = -1;
                process->has_fallen = true;
                process->checked_ns = 0;
            }
    for (auto& process : processes_) {
        if (process->reader == nullptr || process->mode == Mode::ended || process->ended_ns != 0) continue;
        if (is_visited(*process)) continue;  // at the visit
        const uint64_t interval = !process->is_verified ? kUnverifiedLifeNs
                                  : process->pidfd >= 0 ? kWatchedLifeNs
                                                        : kUnwatchedLifeNs;
        if (now - process->checked_ns > interval) check_life(*process, now);
    }
}

uint64_t Collector::patience_ns() const {
    return std::clamp<uint64_t>(processes_.size() * kSilentLookNs, kTurnNs, kTurnMostNs);
}

bool Collector::is_due(const Process& process, uint64_t now) const {
    if (process.reader == nullptr || process.is_over()) return false;
    if (is_visited(process) && process.mode != Mode::settling && process.ended_ns == 0)
        return process.checked_ns == 0 || now - process.asked_ns >= visit_ns();
    if (process.mode != Mode::following || process.ended_ns != 0 || !process.reader->pending().empty()) return true;
    if (now - process.heard_ns < kLivelyNs) return true;
    return now - process.asked_ns >= (now - heard_ns_ < kLivelyNs ? kTurnNs : patience_ns());
}

// Looks into all journals, or into those whose turn it is, and applies what they say.
uint64_t Collector::pass(bool is_whole) {
    const uint64_t now = nanoseconds(CLOCK_MONOTONIC);
    const uint64_t now_ns = nanoseconds(CLOCK_REALTIME);
    if (now - clock_read_ns_ > 1000 * kMs) {
        timebase_.refresh();
        std::vector<RecordCopy>().swap(alive_);
        clock_read_ns_ = now;
        keep_to_limit(now);
    }
    if (is_whole) doubt_claims();  // a process asks for figures
    look_for_deaths(now);
    size_t visited = 0;
    for (auto& process : processes_) {
        visited += is_visited(*process) && !process->is_over();
        process->is_visited_now = (is_whole || is_due(*process, now)) && reach(*process, now);
        process->batch.clear();
        if (!process->is_visited_now) continue;
        process->asked_ns = now;
        const bool was_visited = is_visited(*process) && !process->is_over();
        if (was_visited && process->ended_ns == 0) check_life(*process, now);
        read_batch(*process, now_ns);
        if (process->batch.empty()) continue;
        process->heard_ns = heard_ns_ = now;
        if (was_visited) process->book.note_gap();  // others on its chips were heard before it
        if (was_visited) keep_open(*process, now);
    }
    visited_count_ = visited;
    const uint64_t applied = apply_merged(now_ns);
    for (auto& process : processes_)
        if (process->is_visited_now) after_batch(*process, now_ns);
    follow_mapping(now_ns);
    for (auto& process : processes_)
        if (process->reader != nullptr && process->ended_ns != 0 && !process->is_over() && reach(*process, now))
            finish(*process, now_ns);
    forget_oldest_ended();
    return applied;
}

uint64_t Collector::drain() {
    const std::lock_guard lock(mutex_);
    uint64_t applied = 0, last = kBatch;
    for (size_t passes = 0; passes < kDrainPasses && last >= kBatch; ++passes) applied += last = pass(true);
    return applied;
}

// How long until a pass is due again.
uint64_t Collector::rest_ns() const {
    const uint64_t silent = nanoseconds(CLOCK_MONOTONIC) - heard_ns_;
    if (silent < kLivelyNs) return kMs / 5;
    return silent < 3 * kLivelyNs ? kMs : std::min(patience_ns(), kUnwatchedLifeNs);
}

uint64_t Collector::run(double seconds) {
    const uint64_t until = nanoseconds(CLOCK_MONOTONIC) + static_cast<uint64_t>(seconds * 1e9);
    uint64_t applied = 0;
    should_stop_.store(false, std::memory_order_relaxed);
    // Naps are asked for in fractions of a millisecond; the kernel may add 50 us of its own to each unless reported otherwise.
    const int slack_ns = prctl(PR_GET_TIMERSLACK);
    prctl(PR_SET_TIMERSLACK, 5'000UL);
    while (!should_stop_.load(std::memory_order_relaxed) && nanoseconds(CLOCK_MONOTONIC) < until) {
        std::unique_lock lock(mutex_);
        const uint64_t count = pass(false), rest = rest_ns();
        lock.unlock();
        applied += count;
        if (count >= kBatch && waiting_.load(std::memory_order_relaxed) == 0) continue;
        const uint64_t now = nanoseconds(CLOCK_MONOTONIC);
        const timespec nap{0, static_cast<long>(std::min(rest, until > now ? until - now : 0))};
        pollfd deaths{deaths_, POLLIN, 0};
        ppoll(&deaths, 1, &nap, nullptr);
    }
    if (slack_ns > 0) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack_ns));
    return applied;
}

void Collector::stop() { should_stop_.store(true, std::memory_order_relaxed); }

}  // namespace ttmem
