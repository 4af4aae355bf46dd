#include "support/interleaving.hpp"

#include <sched.h>

#include "support/check.hpp"

namespace ttmem {
namespace {

std::atomic<uint32_t> yields_one_in{0};

void yield_at_random(steps::Step) noexcept {
    thread_local Random random(reinterpret_cast<uintptr_t>(&random) >> 4);
    const uint32_t one_in = yields_one_in.load(std::memory_order_relaxed);
    if (one_in != 0 && random.below(one_in) == 0) sched_yield();
}

}  // namespace

RandomYields::RandomYields(uint32_t one_in) {
    yields_one_in.store(one_in);
    steps::hook.store(yield_at_random);
}

RandomYields::~RandomYields() {
    steps::hook.store(nullptr);
    yields_one_in.store(0);
}

// The thread moves `where` to parked or done, anyone who holds it back moves it to running.
struct ParkedThread::Place {
    enum Where : int { running, parked, done };
    std::atomic<int> where{running};
    steps::Step step;  // where to stop next; changed only while it is parked
};

namespace {
thread_local void* own_place = nullptr;
}

void ParkedThread::stop_here(steps::Step step) noexcept {
    auto* place = static_cast<Place*>(own_place);
    if (place == nullptr || place->step != step) return;
    place->where.store(Place::parked);
    place->where.notify_all();
    place->where.wait(Place::parked);
}

ParkedThread::ParkedThread(steps::Step step, std::function<void()> body) : place_(std::make_unique<Place>()) {
    place_->step = step;
    steps::hook.store(stop_here);
    thread_ = std::thread([place = place_.get(), work = std::move(body)] {
        own_place = place;
        work();
        own_place = nullptr;
        place->where.store(Place::done);
        place->where.notify_all();
    });
    wait_until_there();
}

ParkedThread::~ParkedThread() { finish(); }

void ParkedThread::wait_until_there() {
    place_->where.wait(Place::running);
    if (place_->where.load() == Place::done)
        check::fail(__FILE__, __LINE__, "the thread never came to where it was to stop");
}

void ParkedThread::move_on(steps::Step step) {
    place_->step = step;
    place_->where.store(Place::running);
    place_->where.notify_all();
    wait_until_there();
}

void ParkedThread::finish() {
    if (!thread_.joinable()) return;
    if (place_->where.load() == Place::parked) {
        place_->step = steps::nowhere;
        place_->where.store(Place::running);
        place_->where.notify_all();
    }
    thread_.join();
}

}  // namespace ttmem
