#include "param/exchange/row_exchange.h"

#include <algorithm>

#include "param/table/table_memory.h"

namespace dlhost::param {
namespace {

constexpr std::size_t most_steps = 4; // per rank: steps that one call of a sync returns, or that wait at once
constexpr std::size_t small_bytes = 65536;

// Rows of different ranks do not overlap.
void add(std::int64_t count, const float* from, float* to) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
}
void add_both(std::int64_t count, const float* one, const float* other, float* sum) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) sum[i] = one[i] + other[i];
}

void apply(const SyncStep& step, const float* from, std::span<float> made) {
  if (step.act == SyncStep::Act::replace)
    std::copy_n(from, step.count, made.data() + step.first);
  else
    add(step.count, from, made.data() + step.first);
}

bool are_of_one_part(const SyncStep& one, const SyncStep& other) {
  return one.first == other.first && one.count == other.count;
}

} // namespace

std::size_t RowExchange::turns(const Slice& slice) {
  return static_cast<std::size_t>(slice.count) * sizeof(float) <= small_bytes ? most_turns : 1;
}

void RowExchange::add_bytes(const Part& part, const Slice& slice, std::size_t turns, std::size_t& end) {
  const bool encodes = part.codec.encodes(slice);
  const std::size_t encoded = encodes ? PartCoder::sizes(part.codec, *part.sync, part.ranks, slice).sent : 0;
  for (std::size_t turn = 0; turn < turns; ++turn) {
    for (int row = 0; row < 2; ++row) take_lines(end, static_cast<std::size_t>(slice.count) * sizeof(float));
    if (encodes) take_lines(end, encoded);
  }
}

std::vector<RowExchange::Rows> RowExchange::rows(Neighbours& neighbours, const Slice& slice, std::size_t turns) {
  std::vector<std::uint32_t> hosts;
  const bool encodes = neighbours.codec.encodes(slice);
  const std::size_t encoded =
      encodes ? PartCoder::sizes(neighbours.codec, *neighbours.sync, neighbours.ranks(hosts), slice).sent : 0;
  std::vector<Rows> rows;
  for (std::size_t turn = 0; turn < turns; ++turn) {
    Rows& pair = rows.emplace_back();
    pair.begun = neighbours.row(slice);
    pair.made = neighbours.row(slice);
    if (encodes) pair.encoded = neighbours.take(encoded);
  }
  return rows;
}

Result<RowExchange> RowExchange::join(const Neighbours& neighbours, const Slice& slice, std::vector<Rows> turns,
                                      std::uint16_t section) {
  RowExchange row(neighbours, slice, section);
  std::vector<std::uint32_t> hosts;
  const Sync::Ranks ranks = neighbours.ranks(hosts);
  row.elements_ = slice.count;
  if (neighbours.codec.encodes(slice)) {
    PartCoder::Setup setup{.use = neighbours.codec,
                           .slice = &slice,
                           .memory = neighbours.memory,
                           .received = PartCoder::sizes(neighbours.codec, *neighbours.sync, ranks, slice).received,
                           .seed = neighbours.seed,
                           .contributor = neighbours.all[neighbours.rank].seat};
    DLHOST_ASSIGN(row.coder_, PartCoder::make(std::move(setup)));
    row.elements_ = PartCoder::elements(neighbours.codec, slice);
  }
  row.exchange_ = neighbours.sync->join(ranks, row.elements_);
  if (!row.exchange_) return Status::internal("the sync makes no exchange, and names no neighbours to gossip with");
  row.rows_ = std::move(turns);
  for (auto* steps : {&row.steps_, &row.awaited_}) steps->reserve(most_steps * neighbours.count());
  row.arrived_.reserve(most_steps * neighbours.count());
  for (auto& parts : row.untaken_) parts.resize(neighbours.count());
  return row;
}

void RowExchange::reset() {
  number_ = 0;
  on_ = made_ = false;
  for (auto& parts : untaken_) std::ranges::fill(parts, 0);
  awaited_.clear();
  arrived_.clear();
}

Status RowExchange::start(Version version) {
  on_ = true;
  made_ = false;
  ++number_;
  if (coder_) coder_->begin(rows_[turn()].encoded, version);
  steps_.clear();
  neighbours_->activity->enter(neighbours_->actor, "begin", number_);
  exchange_->begin(steps_);
  neighbours_->activity->leave();
  DLHOST_TRY(follow());
  return go_on();
}

Result<SyncStep> RowExchange::in_elements(const SyncStep& step) const {
  if (step.peer >= neighbours_->count() || step.first < 0 || step.count < 0 || step.count > elements_ - step.first)
    return Status::internal("the sync wants elements ", step.first, " to ", step.first + step.count, " of rank ",
                            step.peer, ": slice ", slice_->id, " has ", elements_, ", and there are ",
                            neighbours_->count(), " ranks");
  if (elements_ == slice_->count) return step;
  SyncStep wider = step;
  wider.first *= slice_->count;
  wider.count *= slice_->count;
  return wider;
}

// Sends of the begun row go first: encoding them determines the values that the other ranks decode, and take_own()
// needs the same values.
Status RowExchange::follow() {
  for (const bool begun : {true, false})
    for (const SyncStep& told : steps_) {
      if (begun != (told.act == SyncStep::Act::send && !told.made)) continue;
      if (told.act == SyncStep::Act::done) {
        made_ = true;
        continue;
      }
      DLHOST_ASSIGN(const SyncStep step, in_elements(told));
      if (step.act == SyncStep::Act::send)
        DLHOST_TRY(send(step));
      else if (step.peer == neighbours_->rank)
        DLHOST_TRY(take_own(step));
      else if (awaited_.size() < awaited_.capacity())
        awaited_.push_back(step);
      else
        return Status::internal("the sync waits for more parts of slice ", slice_->id, " than ", awaited_.size());
    }
  return {};
}

Status RowExchange::take_own(const SyncStep& step) {
  if (coder_) {
    DLHOST_ASSIGN(const bool taken, coder_->take_own(step, made()));
    if (taken) return {};
  }
  apply(step, begun().data() + step.first, made());
  return {};
}

Status RowExchange::send(const SyncStep& step) {
  if (step.peer == neighbours_->rank) return Status::internal("the sync sends to itself");
  ++untaken_[turn()][step.peer];
  const std::span<float> row = step.made ? made() : begun();
  const auto first = static_cast<std::size_t>(step.first), count = static_cast<std::size_t>(step.count);
  auto part = std::as_bytes(row.subspan(first, count));
  if (coder_) {
    DLHOST_ASSIGN(const auto encoded, coder_->send(step.made, step.first, step.count, row));
    neighbours_->traffic->dense += part.size();
    neighbours_->traffic->sent += encoded.size();
    part = encoded;
  }
  return neighbours_->send_part(step.peer, *slice_, part,
                                {.section = section_,
                                 .exchange = number_,
                                 .round = step.round,
                                 .elements = {first, static_cast<std::uint32_t>(count)}});
}

Status RowExchange::take(const to_neighbour::Part& part, const SyncStep& step) {
  if (part.elements != SampleRange{static_cast<std::uint64_t>(step.first), static_cast<std::uint32_t>(step.count)})
    return Status::corrupt("server group ", step.peer, " sends another part of slice ", slice_->id, " than is awaited");
  if (coder_) {
    DLHOST_ASSIGN(const auto bytes, neighbours_->read_encoded(*slice_, part, step.peer));
    return coder_->take(bytes, step, made());
  }
  DLHOST_ASSIGN(const auto values, neighbours_->read(*slice_, part, step.peer));
  const bool own_is_next = step.act == SyncStep::Act::replace && !steps_.empty() &&
                           steps_.front().act == SyncStep::Act::add && steps_.front().peer == neighbours_->rank &&
                           are_of_one_part(steps_.front(), step);
  if (!own_is_next) {
    apply(step, values.data(), made());
    return {};
  }
  steps_.erase(steps_.begin());
  add_both(step.count, values.data(), begun().data() + step.first, made().data() + step.first);
  return {};
}

Status RowExchange::go_on() {
  const auto is_here = [&](const SyncStep& step) {
    return std::ranges::find_if(arrived_, [&](const Arrived& one) {
      return one.part.exchange == number_ && one.from == step.peer && one.part.round == step.round;
    });
  };
  for (std::size_t a = 0; a < awaited_.size();) {
    const SyncStep step = awaited_[a];
    const auto found = is_here(step);
    if (found == arrived_.end()) {
      ++a;
      continue;
    }
    const to_neighbour::Part part = found->part;
    arrived_.erase(found);
    awaited_.erase(awaited_.begin() + static_cast<std::ptrdiff_t>(a));
    steps_.clear();
    neighbours_->activity->enter(neighbours_->actor, "arrived", number_);
    exchange_->arrived(step.peer, step.round, steps_);
    neighbours_->activity->leave();
    DLHOST_TRY(take(part, step));
    DLHOST_TRY(neighbours_->tell(step.peer,
                                 to_neighbour::Taken{.slice = slice_->id, .section = section_, .exchange = number_}));
    DLHOST_TRY(follow());
    a = 0; // parts for the new steps may have arrived already
  }
  if (made_ && !awaited_.empty())
    return Status::internal("the sync is done with slice ", slice_->id, " while it waits for parts of it");
  return {};
}

std::optional<std::uint32_t> RowExchange::first_missing() const {
  if (on_ && !awaited_.empty()) return awaited_.front().peer;
  for (const auto& parts : untaken_)
    for (std::uint32_t rank = 0; rank < parts.size(); ++rank)
      if (parts[rank] > 0) return rank;
  return std::nullopt;
}

Status RowExchange::hear(const to_neighbour::Taken& taken, std::uint32_t from) {
  std::size_t& untaken = untaken_[taken.exchange % rows_.size()][from];
  if (taken.exchange > number_ || taken.exchange + rows_.size() <= number_ || untaken == 0)
    return does_not_fit(taken, neighbours_->all[from].seat, number_);
  --untaken;
  return {};
}

// A rank may be one exchange ahead, because then it has all parts of this rank's last exchange.
Status RowExchange::hear(const to_neighbour::Part& part, std::uint32_t from) {
  const bool is_now = on_ && !made_ && part.exchange == number_;
  if (from == neighbours_->rank || (!is_now && part.exchange != number_ + 1))
    return does_not_fit(part, neighbours_->all[from].seat, number_);
  if (arrived_.size() == arrived_.capacity())
    return Status::corrupt("more parts of slice ", slice_->id, " come than any sync sends");
  arrived_.push_back({from, part});
  return is_now ? go_on() : Status();
}

} // namespace dlhost::param
