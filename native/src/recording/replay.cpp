#include "recording/replay.hpp"

#include <algorithm>

namespace ttmem::recording {
namespace {

constexpr size_t kReplayedMost = 8192;

std::string named_item(const void* from, uint32_t id, Item kind) {
    return static_cast<const ProcessNames*>(from)->item(id, kind);
}

void take_facts(Process& process, const ProcessFacts& facts) {
    process.pid = facts.pid;
    process.uid = facts.uid;
    process.start_ticks = facts.start_ticks;
    process.started_ns = facts.started_ns;
    process.pid_namespace = facts.pid_namespace;
    process.is_visible = facts.is_visible;
    process.label = facts.label;
    process.command = facts.command;
    process.path = facts.path;
    process.sites_off = facts.sites_off;
    ++process.figures;
}

// As the collector that was listened to had it: it reported twice, or nobody had written its journal.
void set_counted(Process& process, bool is_counted) {
    process.shadowed_by = process.way == Way::socket && !is_counted ? ~uint64_t{0} : 0;
    process.is_verified = process.way == Way::socket || is_counted;
}

}  // namespace

Watcher& Replay::watch() {
    if (watcher_ == nullptr) {
        watcher_ = std::make_unique<Watcher>(collector_);
        collector_.listen(watcher_.get());
    }
    return *watcher_;
}

Replay::~Replay() {
    if (watcher_ != nullptr) collector_.listen(nullptr);
}

bool Replay::read_names_of(const StoredBlock& block, std::string& error) {
    if (read_names(block.payload, block.head.row_count, names_)) {
        for (auto& [number, player] : players_) take_facts(*player.process, names_[number].facts);
        return true;
    }
    error = "its names are none";
    return false;
}

// Only whom the names introduce; a damaged recording may speak of any number of others.
Replay::Player* Replay::player_of(uint32_t number) {
    const auto known = players_.find(number);
    if (known != players_.end()) return &known->second;
    const auto named = names_.find(number);
    if (named == names_.end() || players_.size() >= kReplayedMost) return nullptr;
    const ProcessNames& names = named->second;
    Player& player = players_[number];
    player.process = &collector_.admit(names.facts.is_socket ? Way::socket : Way::replay);
    Process& process = *player.process;
    process.is_recorded = true;
    process.names = &names;
    take_facts(process, names.facts);
    process.book.set_arena(named_item, &names);
    return &player;
}

bool Replay::take(const StoredBlock& block, std::string& error) {
    RowDecoder rows(block.payload, block.head.row_count);
    const bool is_event = block.head.kind == BlockKind::events;
    put_in_order();
    if (block.head.row_count > kRowsMost) {
        error = "it says that it has more rows than a block can have";
        return false;
    }
    taken_.reserve(taken_.size() + block.head.row_count);
    order_.reserve(order_.size() + block.head.row_count);
    Taken taken;
    taken.wall_offset_ns = block.head.wall_offset_ns;
    taken.is_event = is_event;
    bool is_in_order = true;
    uint64_t last_ns = order_.empty() ? 0 : order_.back().first;
    while (rows.next(taken.row)) {
        const uint32_t process = taken.row.process;  // the decoder bounds it
        if (process >= latest_ns_.size()) latest_ns_.resize(process + size_t{1});
        const bool has_time = is_event && static_cast<RowType>(taken.row.words.type()) != RowType::gap_peaked;
        if (has_time) latest_ns_[process] = std::max(latest_ns_[process], taken.row.words.time);
        taken.at_ns = latest_ns_[process];
        is_in_order &= taken.at_ns >= last_ns;
        last_ns = taken.at_ns;
        order_.emplace_back(taken.at_ns, static_cast<uint32_t>(taken_.size()));
        taken_.push_back(taken);
    }
    if (!is_in_order)
        std::stable_sort(order_.begin(), order_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    if (!rows.has_failed()) return true;
    error = "its rows are none";
    return false;
}

// Only what is still to be applied is kept.
void Replay::put_in_order() {
    if (next_ == order_.size()) {  // as nearly always: what room there is serves again
        taken_.clear();
        order_.clear();
        next_ = 0;
        return;
    }
    std::vector<Taken> left;
    left.reserve(order_.size() - next_);
    for (size_t at = next_; at < order_.size(); ++at) left.push_back(taken_[order_[at].second]);
    taken_ = std::move(left);
    order_.clear();
    for (const Taken& one : taken_) order_.emplace_back(one.at_ns, static_cast<uint32_t>(order_.size()));
    next_ = 0;
}

bool Replay::play(const Until& until, uint64_t horizon_ns) {
    const auto held = collector_.hold();
    bool has_stopped = false;
    if (watcher_ != nullptr)
        watcher_->look(row_count_, time_ns_ == 0 && next_ < order_.size() ? order_[next_].first : time_ns_);
    for (; next_ < order_.size() && order_[next_].first <= horizon_ns && !has_stopped; ++next_) {
        if (row_count_ >= until.rows || order_[next_].first > until.time_ns) {
            has_stopped = true;
            break;
        }
        const Taken& taken = taken_[order_[next_].second];
        apply_taken(taken);
        // Of a keyframe the last row only: a gap may have ended with more than was held before.
        const bool is_whole = taken.is_event || next_ + 1 == order_.size() || taken_[order_[next_ + 1].second].is_event;
        has_stopped = is_whole && until.pool < kPools && is_reached(until);
    }
    for (auto& [number, player] : players_) ++player.process->figures;
    return has_stopped;
}

void Replay::apply_taken(const Taken& taken) {
    wall_offset_ns_ = taken.wall_offset_ns;
    is_at_event_ = taken.is_event;
    if (!taken.is_event) ++keyframe_row_count_;
    if (taken.is_event && row_watcher_ != nullptr) row_watcher_->row_comes(taken.at_ns);
    if (taken.is_event) time_ns_ = std::max(time_ns_, taken.at_ns);
    const uint64_t at_ns = taken.is_event ? taken.at_ns : taken.row.words.time;
    if (watcher_ != nullptr) watcher_->set_time(at_ns);
    apply_row(taken.row);
    ++row_count_;
    if (watcher_ != nullptr) watcher_->look(row_count_, at_ns);
    if (taken.is_event && row_watcher_ != nullptr) row_watcher_->row_done();
}

bool Replay::phase_moments(const StoredBlock& block, std::vector<PhaseMoment>& found, std::string& error) const {
    RowDecoder rows(block.payload, block.head.row_count);
    Row row;
    while (rows.next(row)) {
        const Type type = row.words.type();
        if (type != Type::phase_began && type != Type::phase_ended) continue;
        const auto named = names_.find(row.process);
        if (named == names_.end()) continue;
        const std::string name = named->second.item(PhaseRecord::unpack(row.words).name, Item::text);
        found.push_back({row.words.time, named->second.facts.pid, type == Type::phase_began, name});
    }
    if (!rows.has_failed()) return true;
    error = "its rows are none";
    return false;
}

bool Replay::is_reached(const Until& until) {
    const std::vector<Device>& devices = collector_.devices().all();
    if (watched_ < 0 || devices[static_cast<size_t>(watched_)].unique_id != until.chip) {
        watched_ = -1;
        for (size_t i = 0; i < devices.size() && watched_ < 0; ++i)
            if (devices[i].is_known && devices[i].unique_id == until.chip) watched_ = static_cast<int64_t>(i);
        if (watched_ < 0) return false;
    }
    return devices[static_cast<size_t>(watched_)].cell.pools[until.pool].used >= until.bytes;
}

void Replay::apply_row(const Row& row) {
    Player* found = player_of(row.process);
    if (found == nullptr) return;
    Player& player = *found;
    RecordCopy words = row.words;
    words.time = wall(words.time);
    const auto type = static_cast<uint8_t>(words.type());
    if (is_own_type(type)) return apply_own(player, words);
    if (player.is_skipping) return;
    if (words.type() == Type::phase_began || words.type() == Type::phase_ended) note_phase(player, words);
    if (player.is_gathering && words.type() == Type::allocated) {
        player.alive.push_back(words);
        return;
    }
    if (player.process->way == Way::socket) return apply_socket(player, words);
    apply_journal(player, words);
}

void Replay::apply_own(Player& player, RecordCopy words) {
    Book& book = player.process->book;
    switch (static_cast<RowType>(words.type())) {
        case RowType::process_began:
            // A keyframe on the way says nothing new of one that was followed all along.
            player.is_skipping = player.process->event_count != 0 && !player.is_lost;
            if (player.is_skipping) return;
            if ((words.id & 1) == 0) book.leave();
            set_counted(*player.process, (words.id & 1) != 0);
            player.is_lost = (words.id & 2) != 0;
            player.is_gathering = true;
            player.alive.clear();
            player.phases.clear();
            player.process->event_count = 1;
            return;
        case RowType::process_whole:
            if (player.is_gathering && player.process->way == Way::socket)
                for (const RecordCopy& life : player.alive) apply_socket(player, life);
            else if (player.is_gathering)
                book.rebuild(player.alive, {}, words.time);
            if (player.is_gathering && watcher_ != nullptr) watcher_->reset(player.process->key);
            player.is_gathering = player.is_skipping = false;
            player.alive.clear();
            return;
        case RowType::process_ended:
            if (!player.process->is_over()) collector_.dismiss(*player.process);
            player.process->ended_ns = words.time;
            return;
        case RowType::left:
            set_counted(*player.process, false);
            return book.leave();
        case RowType::rejoined:
            set_counted(*player.process, true);
            return book.rejoin(words.time);
        case RowType::gap_began:
            player.is_lost = true;
            player.process->lost_records = words.id;
            player.process->event_count = 1;
            return book.note_gap();
        case RowType::gap_ended:
            player.process->lost_records = words.id;
            player.is_lost = true;  // until the keyframe that follows
            return;
        case RowType::gap_peaked: {
            GapPeak peak{player.process->key, {}, words.pool(), in::kReserved.of(words.reserved), words.time};
            if (words.target() < book.targets().size())
                for (const uint32_t device : book.targets()[words.target()].devices)
                    peak.chips.push_back(collector_.devices().at(device).unique_id);
            gap_peaks_.push_back(peak);
            return;
        }
        case RowType::resized: {
            const EntryKey key = entry_key(words);
            if (RecordCopy* life = book.at_slot(book.slot_of(key, entry_hash(key))))
                book.resize(*life, std::min(words.reserved_bytes(), kSizeMost), words.sequence(), words.time);
            return;
        }
        default:
            return;
    }
}

void Replay::apply_journal(Player& player, const RecordCopy& words) {
    player.process->event_count += 1;
    if (words.target() < kTargets) player.process->book.apply(words, nullptr, words.time);
}

// Who reports by the allocation server's protocol keeps no journal: lives are begun and ended as the server did.
void Replay::apply_socket(Player& player, const RecordCopy& words) {
    Book& book = player.process->book;
    player.process->event_count += 1;
    if (words.type() == Type::target_opened) {
        const TargetOpenedRecord opened = TargetOpenedRecord::unpack(words);
        return book.open_server_chip(opened.target, static_cast<int32_t>(opened.unique_id & 0x7fff'ffff), words.time);
    }
    const EntryKey key = entry_key(words);
    const uint32_t hash = entry_hash(key);
    if (words.type() == Type::allocated) {
        if (words.kind() >= kKinds || words.pool() >= kPools || words.reserved_bytes() > kSizeMost) return;
        if (words.target() >= book.targets().size() || !book.targets()[words.target()].is_named)
            book.open_server_chip(words.target(), -1, words.time);
        book.begin(words, hash, words.time);
    } else if (words.type() == Type::freed) {
        const size_t slot = book.slot_of(key, hash);
        if (book.at_slot(slot) != nullptr) book.end(slot, words.sequence(), words.time);
    }
}

void Replay::note_phase(Player& player, const RecordCopy& words) {
    const PhaseRecord phase = PhaseRecord::unpack(words);
    if (phase.type == Type::phase_began) {
        player.phases.push_back({player.process->book.text(phase.name), words.id, words.time, 0, words.thread()});
        return;
    }
    for (auto one = player.phases.rbegin(); one != player.phases.rend(); ++one)
        if (one->number == words.id && one->ended_ns == 0) {
            one->ended_ns = words.time;
            return;
        }
}

std::vector<std::pair<uint64_t, std::vector<RecordedPhase>>> Replay::phases() const {
    std::vector<std::pair<uint64_t, std::vector<RecordedPhase>>> all;
    for (const auto& [number, player] : players_) all.emplace_back(player.process->key, player.phases);
    return all;
}

std::vector<uint64_t> Replay::lost_processes() const {
    std::vector<uint64_t> keys;
    for (const auto& [number, player] : players_)
        if (player.is_lost && !player.process->is_over()) keys.push_back(player.process->key);
    return keys;
}

}  // namespace ttmem::recording
