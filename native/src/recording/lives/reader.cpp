#include "recording/lives/reader.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "ledger/book/entry_fields.hpp"

namespace ttmem::recording {
namespace {

constexpr size_t kPlayersMost = 1u << 16;
constexpr uint32_t kNone = ~0u;
constexpr uint64_t kAll = ~uint64_t{0};

bool is_same(const ProcessFacts& a, const ProcessFacts& b) {
    if (a.is_socket != b.is_socket || a.pid != b.pid) return false;
    if (a.is_socket) return a.start_ticks == b.start_ticks;
    return a.started_ns == b.started_ns && a.pid_namespace == b.pid_namespace;
}

uint64_t flags_of(const RecordCopy& words) {
    return ((words.is_further() ? kIsPart : 0) | ((words.flags() & kView) != 0 ? kIsView : 0) |
            (words.kind() != TTMEM_BUFFER && (words.flags() & kEstimated) != 0 ? kIsEstimated : 0) |
            (words.is_by_core() ? kIsByCore : 0));
}

// Of whom it is asked whether it was freed before its thread allocated again.
uint64_t place_key(const RecordCopy& words) {
    return uint64_t{words.thread()} << 32 | uint64_t{words.target()} << 8 | words.pool();
}

}  // namespace

// ---- who rows are about

void LifeReader::begin_segment() {
    names_.clear();
    by_number_.clear();
    for (const auto& player : players_) {
        player->names = nullptr;
        player->is_met = false;
    }
}

// The same process in another segment, also by another recorder.
LifeReader::Player& LifeReader::player_for(const ProcessFacts& facts, uint32_t number) {
    for (const auto& player : players_)
        if (!player->is_met && player->ended_ns == 0 && is_same(player->facts, facts)) {
            player->is_met = true;
            return *player;
        }
    players_.push_back(std::make_unique<Player>());
    Player& player = *players_.back();
    player.number = static_cast<uint32_t>(players_.size() - 1);
    player.is_met = true;
    player.facts = facts;
    RecordCopy words;
    words.time = last_ns_;
    add_event(player, EventKind::process_began, words, number, 0);
    return player;
}

LifeReader::Player* LifeReader::player_of(uint32_t number) {
    if (number < by_number_.size() && by_number_[number] != nullptr) return by_number_[number];
    const auto named = names_.find(number);
    if (named == names_.end() || number >= kPlayersMost || players_.size() >= kPlayersMost) return nullptr;
    if (by_number_.size() <= number) by_number_.resize(number + size_t{1});
    Player& player = player_for(named->second.facts, number);
    by_number_[number] = &player;
    player.names = &named->second;
    refresh(player);
    return &player;
}

void LifeReader::refresh(Player& player) {
    player.facts = player.names->facts;
    player.threads = player.names->threads;
}

bool LifeReader::read_names_of(const StoredBlock& block, std::string& error) {
    if (!read_names(block.payload, block.head.row_count, names_)) {
        error = "its names are none";
        return false;
    }
    for (Player* player : by_number_)
        if (player != nullptr) refresh(*player);
    return true;
}

std::vector<LifeProcess> LifeReader::processes() const {
    std::vector<LifeProcess> all;
    for (const auto& one : players_)
        all.push_back({one->facts, one->ended_ns, one->gap_count, one->last_ns, one->phase_ends.size(), one->launches,
                       one->is_lost, one->is_counted, one->was_found});
    return all;
}

// ---- rows

bool LifeReader::apply(const StoredBlock& block, std::string& error) {
    RowDecoder rows(block.payload, block.head.row_count);
    wall_offset_ns_ = block.head.wall_offset_ns;
    const bool is_event = block.head.kind == BlockKind::events;
    if ((block.head.parts & kFirstPart) != 0)
        for (const auto& player : players_) player->is_seen = false;
    Row row;
    while (!has_stopped_ && rows.next(row)) {
        if (is_event && row.words.time > range_.until_ns) {
            has_stopped_ = true;
            break;
        }
        apply_row(row, is_event);
        ++row_count_;
    }
    if ((block.head.parts & kLastPart) != 0) end_keyframe();
    if (!rows.has_failed()) return true;
    error = "its rows are none";
    return false;
}

// A process that a keyframe of all does not know was not followed until then; it may come back.
void LifeReader::end_keyframe() {
    for (const auto& player : players_)
        if (!player->is_seen && player->ended_ns == 0 && !player->is_lost) lose(*player, player->last_ns);
}

void LifeReader::apply_row(const Row& row, bool is_event) {
    Player* player = player_of(row.process);
    if (player == nullptr) return;
    const RecordCopy& words = row.words;
    if (is_own_type(static_cast<uint8_t>(words.type()))) return apply_own(*player, words);
    if (words.type() == Type::target_opened) open_target(*player, words);
    if (player->is_gathering) {
        player->gathered.push_back(words);
        return;
    }
    if (!is_event || words.kind() >= kKinds) return;
    player->last_ns = std::max(player->last_ns, words.time);
    player->last_sequence = std::max(player->last_sequence, words.sequence());
    last_ns_ = std::max(last_ns_, words.time);
    apply_event(*player, words);
}

void LifeReader::apply_event(Player& player, const RecordCopy& words) {
    switch (words.type()) {
        case Type::allocated:
            if (player.alive.find(words.sequence()) == nullptr) begin_life(player, words);
            return;
        case Type::freed: {
            const bool is_replaced = words.site() == static_cast<uint32_t>(Ending::replaced);
            if (is_replaced) player.replaced_at = words.sequence();
            if (const uint32_t* slot = player.alive.find(words.address))
                end_life(player, *slot, is_replaced ? LifeEnding::replaced : LifeEnding::freed, words.time, words.time,
                         words.sequence());
            return;
        }
        case Type::site_changed:
            if (const uint32_t* slot = player.alive.find(words.address)) {
                alive_[*slot].words.set_site(words.site());
                alive_[*slot].site = site_of(player, words.site());
            }
            return;
        case Type::target_opened:
            return add_event(player, EventKind::target_opened, words, words.address, 0);
        case Type::target_closed:
            return close_target(player, words);
        case Type::phase_began:
            return begin_phase(player, words, false);
        case Type::phase_ended:
            return end_phase(player, words);
        case Type::launched: {
            ++player.launches;
            const uint32_t name = operation_of(player, words.target(), words.id);
            return add_event(player, EventKind::launched, words, words.id, words.requested_bytes(), 0, name);
        }
        case Type::program_named:
            return name_program(player, words, words.id, static_cast<uint32_t>(words.address));
        case Type::trace_captured:
            return add_event(player, EventKind::trace_captured, words, words.id, words.reserved_bytes());
        case Type::trace_replayed:
            return add_event(player, EventKind::trace_replayed, words, words.id, 0);
        case Type::trace_released:
            return add_event(player, EventKind::trace_released, words, words.id, 0);
        case Type::incident:
            return add_event(player, EventKind::incident, words, words.id, words.address, words.reserved_bytes(),
                             site_of(player, words.site()).frames);
        case Type::out_of_memory:
            return add_event(player, EventKind::out_of_memory, words, words.id, words.address, words.reserved_bytes());
        case Type::clashed:
            return add_event(player, EventKind::clashed, words, words.id, words.address,
                             in::kReserved.of(words.reserved));
        default:
            return;
    }
}

void LifeReader::apply_own(Player& player, const RecordCopy& words) {
    switch (static_cast<RowType>(words.type())) {
        case RowType::process_began:
            return begin_process(player, words);
        case RowType::process_whole:
            return settle(player);
        case RowType::process_ended:
            if (player.is_lost)
                end_where(player, kNone, kAll, LifeEnding::lost, player.lost_since_ns, words.time, 0);
            else
                end_where(player, kNone, kAll, LifeEnding::process_ended, words.time, words.time,
                          player.last_sequence + 1);
            player.ended_ns = std::max<uint64_t>(words.time, 1);
            return add_event(player, EventKind::process_ended, words, 0, 0);
        case RowType::left:
            player.is_counted = false;
            return add_event(player, EventKind::left, words, 0, 0);
        case RowType::rejoined:
            player.is_counted = true;
            return add_event(player, EventKind::rejoined, words, 0, 0);
        case RowType::gap_began:
            if (!player.is_lost) lose(player, words.time);
            return add_event(player, EventKind::gap_began, words, 0, words.id);
        case RowType::gap_ended:
            // One that was running before it was recorded has no gap behind it.
            if (!player.is_lost && player.last_ns != 0) lose(player, player.last_ns);
            player.is_lost = true;
            player.settled_ns = words.time;
            return add_event(player, EventKind::gap_ended, words, 0, words.id);
        case RowType::gap_peaked:
            return add_event(player, EventKind::gap_peaked, words, 0, 0, in::kReserved.of(words.reserved));
        case RowType::resized:
            if (const uint32_t* slot = player.alive.find(words.address)) {
                RecordCopy& life = alive_[*slot].words;
                life.set_reserved(words.reserved_bytes());
                life.set_requested(words.requested_bytes());
                add_event(player, EventKind::resized, words, words.address, 0, words.reserved_bytes());
            }
            return;
        default:
            return;
    }
}

// ---- gaps and keyframes

void LifeReader::lose(Player& player, uint64_t since_ns) {
    player.is_lost = true;
    player.lost_since_ns = since_ns;
    player.lost_mark = player.phase_ends.size();
    player.lost_launch = player.launches;
    ++player.gap_count;
}

void LifeReader::begin_process(Player& player, const RecordCopy& words) {
    player.is_seen = true;
    player.is_counted = (words.id & 1) != 0;
    player.gathered.clear();
    player.is_gathering = true;
    player.is_listed = (words.id & 2) == 0;
    if (!player.is_listed && !player.is_lost) lose(player, player.last_ns);
    player.was_found |= player.last_ns == 0;
}

// What a keyframe says, and what was known: the same, unless something was not recorded.
void LifeReader::settle(Player& player) {
    if (!player.is_gathering) return;
    player.is_gathering = false;
    player.is_settling = true;
    std::vector<RecordCopy> gathered;
    gathered.swap(player.gathered);
    if (player.is_listed)
        compare(player, gathered);
    else
        gather_phases(player, gathered);
    player.is_settling = false;
}

void LifeReader::compare(Player& player, const std::vector<RecordCopy>& gathered) {
    std::unordered_set<uint64_t> listed;
    for (const RecordCopy& words : gathered)
        if (words.type() == Type::allocated) listed.insert(words.sequence());
    std::vector<uint32_t> gone;
    player.alive.for_each([&](uint64_t sequence, uint32_t slot) {
        if (!listed.contains(sequence)) gone.push_back(slot);
    });
    if (!gone.empty() && !player.is_lost) lose(player, player.last_ns);
    const uint64_t latest_ns = std::max({player.settled_ns, player.lost_since_ns, last_ns_});
    for (const uint32_t slot : gone) end_life(player, slot, LifeEnding::lost, player.lost_since_ns, latest_ns, 0);
    gather_phases(player, gathered);
    std::vector<uint32_t> found;
    for (const RecordCopy& words : gathered) {
        if (words.type() != Type::allocated || words.kind() >= kKinds) continue;
        if (player.alive.find(words.sequence()) != nullptr) continue;
        const uint32_t slot = begin_life(player, words);
        if (slot != kNone) found.push_back(slot);
    }
    player.last_of.clear();
    place_in_phases(player, found);
    player.is_lost = false;
}

// A keyframe says each phase with its end; here they come as they came.
void LifeReader::gather_phases(Player& player, const std::vector<RecordCopy>& gathered) {
    std::vector<RecordCopy> rows;
    for (const RecordCopy& words : gathered)
        if (words.type() == Type::phase_began || words.type() == Type::phase_ended) rows.push_back(words);
    std::stable_sort(rows.begin(), rows.end(),
                     [](const RecordCopy& a, const RecordCopy& b) { return a.sequence() < b.sequence(); });
    for (const RecordCopy& words : rows) {
        if (words.type() == Type::phase_ended) end_phase(player, words);
        if (words.type() == Type::phase_began && !player.phase_of.contains(static_cast<uint32_t>(words.id)))
            begin_phase(player, words, true);
    }
}

// Lives that a keyframe has brought: which phase was open when they began, by their sequences.
void LifeReader::place_in_phases(Player& player, std::vector<uint32_t>& found) {
    if (found.empty() || player.phase_of.empty()) return;
    struct Step {
        uint64_t sequence;
        uint32_t phase;
        bool is_end;
    };
    std::vector<Step> steps;
    for (const auto& [number, phase] : player.phase_of) {
        const PhaseRun& run = phases_[phase - 1];
        steps.push_back({run.began_sequence, phase, false});
        if (run.ended_sequence != 0) steps.push_back({run.ended_sequence, phase, true});
    }
    std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.sequence < b.sequence; });
    std::sort(found.begin(), found.end(),
              [&](uint32_t a, uint32_t b) { return alive_[a].words.sequence() < alive_[b].words.sequence(); });
    std::vector<uint32_t> open;
    size_t at = 0, ends = 0;
    for (const uint32_t slot : found) {
        Alive& life = alive_[slot];
        for (; at < steps.size() && steps[at].sequence < life.words.sequence(); ++at) {
            ends += steps[at].is_end;
            if (steps[at].is_end)
                std::erase(open, steps[at].phase);
            else
                open.push_back(steps[at].phase);
        }
        life.phase = open.empty() ? 0 : open.back();
        life.begin_mark = ends;
    }
}

// ---- lives

uint32_t LifeReader::begin_life(Player& player, const RecordCopy& words) {
    if (words.kind() == TTMEM_PROGRAM_BINARY) note_program(player, words);
    if (is_bookkeeping(words) || words.pool() >= kPools || words.sequence() == 0) return kNone;
    uint32_t slot = static_cast<uint32_t>(alive_.size());
    if (free_.empty()) {
        alive_.emplace_back();
    } else {
        slot = free_.back();
        free_.pop_back();
    }
    Alive& life = alive_[slot];
    life.words = words;
    life.site = words.kind() == TTMEM_PROGRAM_BINARY || player.facts.is_socket ? Site{} : site_of(player, words.site());
    life.begin_bytes = words.reserved_bytes();
    life.begin_mark = player.phase_ends.size();
    life.begin_launch = player.launches;
    life.flags = flags_of(words) | (player.is_settling ? kWasFound : 0) | (player.is_counted ? 0 : kIsUncounted);
    life.phase = player.open.empty() ? 0 : player.open.back();
    life.chips = chips_of(player, words.target());
    life.thread = thread_of(player, words);
    life.core_set = text_of(player, EntryFields(words, player.facts.is_socket).core_set);
    player.alive.insert(words.sequence(), slot);
    if ((life.flags & (kIsPart | kIsView)) == 0) player.last_of[place_key(words)] = {words.id, words.kind()};
    return slot;
}

void LifeReader::end_life(Player& player, uint32_t slot, LifeEnding ending, uint64_t end_ns, uint64_t latest_ns,
                          uint64_t sequence) {
    const Alive& life = alive_[slot];
    const RecordCopy& words = life.words;
    player.alive.erase(words.sequence());
    free_.push_back(slot);
    if (!is_wanted(player, life, ending, latest_ns)) return;
    const EntryFields its(words, player.facts.is_socket);
    uint64_t flags = life.flags;
    if (ending == LifeEnding::lost) flags |= kWasLost;
    if (ending == LifeEnding::freed && (flags & (kIsView | kWasFound)) == 0) {
        const auto last = player.last_of.find(place_key(words));
        if (last != player.last_of.end() && last->second == Last{words.id, words.kind()}) flags |= kIsTemporary;
    }
    const uint32_t operation =
        is_buffer(words.kind()) ? life.site.operation : operation_of(player, words.target(), its.program);
    const bool is_lost = ending == LifeEnding::lost;
    Columns<LifeColumn>::Row row;
    const auto put = [&](LifeColumn column, uint64_t value) { row[static_cast<size_t>(column)] = value; };
    put(LifeColumn::process, player.number);
    put(LifeColumn::chips, life.chips);
    put(LifeColumn::target, words.target());
    put(LifeColumn::kind, words.kind());
    put(LifeColumn::pool, words.pool());
    put(LifeColumn::id, words.id);
    put(LifeColumn::address, its.address);
    put(LifeColumn::bytes, words.reserved_bytes());
    put(LifeColumn::begin_bytes, life.begin_bytes);
    put(LifeColumn::requested, its.asked);
    put(LifeColumn::per_bank, its.per_bank);
    put(LifeColumn::core_count, its.core_count);
    put(LifeColumn::core_set, life.core_set);
    put(LifeColumn::page_bytes, its.page);
    put(LifeColumn::layout, its.layout);
    put(LifeColumn::begin_ns, words.time);
    put(LifeColumn::end_ns, end_ns);
    put(LifeColumn::latest_end_ns, latest_ns);
    put(LifeColumn::ending, static_cast<uint64_t>(ending));
    put(LifeColumn::flags, flags);
    put(LifeColumn::thread, life.thread);
    put(LifeColumn::site, life.site.frames);
    put(LifeColumn::operation, operation);
    put(LifeColumn::tensor, life.site.tensor);
    put(LifeColumn::program, its.program);
    put(LifeColumn::phase, life.phase);
    put(LifeColumn::begin_sequence, words.sequence());
    put(LifeColumn::end_sequence, sequence);
    put(LifeColumn::begin_mark, life.begin_mark);
    put(LifeColumn::end_mark, is_lost ? player.lost_mark : player.phase_ends.size());
    put(LifeColumn::begin_launch, life.begin_launch);
    put(LifeColumn::end_launch, is_lost ? player.lost_launch : player.launches);
    lives_.add(row);
}

bool LifeReader::is_wanted(const Player& player, const Alive& life, LifeEnding ending, uint64_t latest_ns) const {
    if (latest_ns != 0 && latest_ns < range_.from_ns) return false;
    if (range_.lives != WantedLives::lasting) return range_.lives == WantedLives::all;
    return (ending != LifeEnding::freed && ending != LifeEnding::replaced) ||
           life.begin_mark != player.phase_ends.size();
}

void LifeReader::end_where(Player& player, uint32_t target, uint64_t before, LifeEnding ending, uint64_t end_ns,
                           uint64_t latest_ns, uint64_t sequence) {
    std::vector<std::pair<uint64_t, uint32_t>> meant;
    player.alive.for_each([&](uint64_t begun, uint32_t slot) {
        if ((target == kNone || alive_[slot].words.target() == target) && begun < before)
            meant.emplace_back(begun, slot);
    });
    std::sort(meant.begin(), meant.end());
    for (const auto& [begun, slot] : meant) end_life(player, slot, ending, end_ns, latest_ns, sequence);
}

void LifeReader::finish() {
    for (const auto& player : players_) {
        if (player->ended_ns != 0) continue;
        const LifeEnding ending = player->is_lost ? LifeEnding::lost : LifeEnding::alive;
        end_where(*player, kNone, kAll, ending, player->is_lost ? player->lost_since_ns : 0, 0, 0);
    }
    has_stopped_ = true;
}

// ---- targets, programs, phases

void LifeReader::open_target(Player& player, const RecordCopy& words) {
    const uint16_t target = words.target();
    const auto descriptor = static_cast<uint32_t>(words.id);
    std::vector<uint64_t> chips;
    const std::string mesh = player.names->item(descriptor, Item::mesh);
    MeshDescriptor head{};
    if (mesh.size() >= sizeof head) std::memcpy(&head, mesh.data(), sizeof head);
    if (head.chip_count > 0 && mesh.size() == sizeof head + head.chip_count * sizeof(uint64_t)) {
        chips.resize(head.chip_count);
        std::memcpy(chips.data(), mesh.data() + sizeof head, head.chip_count * sizeof(uint64_t));
        std::vector<uint64_t> once;
        for (const uint64_t chip : chips)
            if (std::find(once.begin(), once.end(), chip) == once.end()) once.push_back(chip);
        chips = once;
    } else {
        chips.push_back(words.address);
        DeviceDescriptor facts;
        const std::string bytes = player.names->item(descriptor, Item::device);
        if (bytes.size() == sizeof facts) {
            std::memcpy(&facts, bytes.data(), sizeof facts);
            chips_[words.address] = facts;
        }
    }
    if (player.targets.size() <= target) player.targets.resize(target + size_t{1});
    player.targets[target] = chip_sets_.number_of(chips);
}

void LifeReader::close_target(Player& player, const RecordCopy& words) {
    end_where(player, words.target(), words.sequence(), LifeEnding::device_closed, words.time, words.time,
              words.sequence());
    add_event(player, EventKind::target_closed, words, words.address, 0);
}

// Its first entry is its first launch as well; one that is entered again had its launches before.
void LifeReader::note_program(Player& player, const RecordCopy& words) {
    const uint32_t site = ProgramRecord::unpack(words).operation;
    if (site != 0) name_program(player, words, words.id, site);
    if (words.launches() == 0 || player.is_settling || player.replaced_at == words.sequence()) return;
    ++player.launches;
    const uint32_t name = operation_of(player, words.target(), words.id);
    add_event(player, EventKind::launched, words, words.id, words.launches(), 0, name);
}

void LifeReader::name_program(Player& player, const RecordCopy& words, uint64_t program, uint32_t site) {
    const uint32_t name = site_of(player, site).operation;
    player.operations[program_key(words.target(), program)] = name;
    add_event(player, EventKind::program_named, words, program, 0, 0, name);
}

void LifeReader::begin_phase(Player& player, const RecordCopy& words, bool is_unsure) {
    PhaseRun run;
    run.process = player.number;
    run.name = text_of(player, PhaseRecord::unpack(words).name);
    run.thread = thread_of(player, words);
    run.parent = player.open.empty() ? 0 : player.open.back();
    run.run = ++player.runs[run.name];
    run.began_ns = words.time;
    run.began_sequence = words.sequence();
    run.is_unsure = is_unsure;
    phases_.push_back(run);
    const auto number = static_cast<uint32_t>(phases_.size());
    player.phase_of[static_cast<uint32_t>(words.id)] = number;
    player.open.push_back(number);
    add_event(player, EventKind::phase_began, words, number, run.run, 0, run.name);
}

void LifeReader::end_phase(Player& player, const RecordCopy& words) {
    const auto known = player.phase_of.find(static_cast<uint32_t>(words.id));
    if (known == player.phase_of.end() || phases_[known->second - 1].ended_sequence != 0) return;
    PhaseRun& run = phases_[known->second - 1];
    run.ended_ns = words.time;
    run.ended_sequence = words.sequence();
    run.end_mark = player.phase_ends.size();
    run.is_unsure |= player.is_lost || player.is_settling;
    player.phase_ends.push_back(words.sequence());
    std::erase(player.open, known->second);
    add_event(player, EventKind::phase_ended, words, known->second, run.run, 0, run.name);
}

// ---- names

void LifeReader::add_event(Player& player, EventKind kind, const RecordCopy& words, uint64_t id, uint64_t value,
                           uint64_t bytes, uint64_t name) {
    if ((range_.events >> static_cast<unsigned>(kind) & 1) == 0 || words.time < range_.from_ns) return;
    Columns<EventColumn>::Row row;
    const auto put = [&](EventColumn column, uint64_t its) { row[static_cast<size_t>(column)] = its; };
    put(EventColumn::kind, static_cast<uint64_t>(kind));
    put(EventColumn::process, player.number);
    put(EventColumn::time_ns, words.time);
    put(EventColumn::sequence, words.sequence());
    put(EventColumn::thread, thread_of(player, words));
    put(EventColumn::target, words.target());
    put(EventColumn::chips, chips_of(player, words.target()));
    put(EventColumn::pool, words.pool());
    put(EventColumn::id, id);
    put(EventColumn::value, value);
    put(EventColumn::bytes, bytes);
    put(EventColumn::name, name);
    events_.add(row);
}

// What a site says never changes, but it may not have been said yet.
LifeReader::Site LifeReader::site_of(Player& player, uint32_t site) {
    if (site == 0) return {};
    const auto known = player.sites.find(site);
    if (known != player.sites.end()) return known->second;
    Site its;
    if (is_stack_site(site)) {
        const SitePath path = player.names->site(site);
        its = {texts_.number_of(frames_text(path)), texts_.number_of(operation_in(path)),
               texts_.number_of(tensor_in(path))};
        if (path.nodes.empty() && !path.is_other) return its;
    } else {
        its.frames = text_of(player, site);
        if (its.frames == 0) return its;
    }
    player.sites[site] = its;
    return its;
}

uint32_t LifeReader::text_of(const Player& player, uint32_t id) {
    if (id == 0) return 0;
    const std::string text = player.names->item(id, Item::text);
    return texts_.number_of(std::string_view(text).substr(0, text.find('\0')));
}

uint32_t LifeReader::operation_of(const Player& player, uint16_t target, uint64_t program) const {
    if (program == 0) return 0;
    const auto found = player.operations.find(program_key(target, program));
    return found != player.operations.end() ? found->second : 0;
}

}  // namespace ttmem::recording
