#include "param/row_exchange.h"

#include <algorithm>

#include "param/table_memory.h"

namespace dlhost::param {
namespace {

constexpr std::size_t most_steps = 4; // for each rank, of one call of a sync or at once under way
constexpr std::size_t small_bytes = 65536;

void apply(const SyncStep& step, const float* from, std::span<float> made) {
  float* to = made.data() + step.first;
  if (step.act == SyncStep::Act::replace) {
    std::copy_n(from, step.count, to);
    return;
  }
  for (std::int64_t i = 0; i < step.count; ++i) to[i] += from[i];
}

} // namespace

std::size_t RowExchange::turns(const Slice& slice) {
  return static_cast<std::size_t>(slice.count) * sizeof(float) <= small_bytes ? most_turns : 1;
}

void RowExchange::add_bytes(const Slice& slice, std::size_t& end) {
  for (std::size_t row = 0; row < 2 * turns(slice); ++row)
    take_lines(end, static_cast<std::size_t>(slice.count) * sizeof(float));
}

std::vector<RowExchange::Rows> RowExchange::rows(Neighbours& neighbours, const Slice& slice) {
  std::vector<Rows> rows;
  for (std::size_t turn = 0; turn < turns(slice); ++turn)
    rows.push_back({neighbours.row(slice), neighbours.row(slice)});
  return rows;
}

Result<RowExchange> RowExchange::join(const Neighbours& neighbours, const Slice& slice, std::vector<Rows> turns) {
  RowExchange row(neighbours, slice);
  row.exchange_ = neighbours.join(slice.count);
  if (!row.exchange_) return Status::internal("the sync makes no exchange, and names no neighbours to gossip with");
  row.rows_ = std::move(turns);
  for (auto* steps : {&row.steps_, &row.awaited_}) steps->reserve(most_steps * neighbours.count());
  row.letters_.reserve(most_steps * neighbours.count());
  return row;
}

void RowExchange::reset() {
  number_ = 0;
  on_ = made_ = false;
  untaken_ = {};
  awaited_.clear();
  letters_.clear();
}

Status RowExchange::start() {
  on_ = true;
  made_ = false;
  ++number_;
  steps_.clear();
  neighbours_->activity->enter(neighbours_->actor, "begin", number_);
  exchange_->begin(steps_);
  neighbours_->activity->leave();
  DLHOST_TRY(follow());
  return go_on();
}

Status RowExchange::follow() {
  for (const SyncStep& step : steps_) {
    if (step.act == SyncStep::Act::done) {
      made_ = true;
      continue;
    }
    if (step.peer >= neighbours_->count() || step.first < 0 || step.count < 0 ||
        step.count > slice_->count - step.first)
      return Status::internal("the sync wants elements ", step.first, " to ", step.first + step.count, " of rank ",
                              step.peer, ": slice ", slice_->id, " has ", slice_->count, ", and there are ",
                              neighbours_->count(), " ranks");
    if (step.act == SyncStep::Act::send)
      DLHOST_TRY(send(step));
    else if (step.peer == neighbours_->rank)
      apply(step, begun().data() + step.first, made());
    else if (awaited_.size() < awaited_.capacity())
      awaited_.push_back(step);
    else
      return Status::internal("the sync waits for more parts of slice ", slice_->id, " than ", awaited_.size());
  }
  return {};
}

Status RowExchange::send(const SyncStep& step) {
  if (step.peer == neighbours_->rank) return Status::internal("the sync sends to itself");
  ++untaken_[turn()];
  const std::span<const float> row = step.made ? made() : begun();
  const auto first = static_cast<std::size_t>(step.first);
  return neighbours_->send_part(step.peer, *slice_, row.subspan(first, static_cast<std::size_t>(step.count)),
                                {.step = step.round, .samples = {first}, .version = number_});
}

Status RowExchange::go_on() {
  const auto is_here = [&](const SyncStep& step) {
    return std::ranges::find_if(letters_, [&](const Message& letter) {
      return letter.version == number_ && letter.seat == neighbours_->all[step.peer].seat && letter.step == step.round;
    });
  };
  for (std::size_t a = 0; a < awaited_.size();) {
    const SyncStep step = awaited_[a];
    const auto found = is_here(step);
    if (found == letters_.end()) {
      ++a;
      continue;
    }
    const Message letter = *found;
    letters_.erase(found);
    awaited_.erase(awaited_.begin() + static_cast<std::ptrdiff_t>(a));
    if (letter.samples != SampleRange{static_cast<std::uint64_t>(step.first), static_cast<std::uint32_t>(step.count)})
      return Status::corrupt("server group ", step.peer, " sends another part of slice ", slice_->id,
                             " than is awaited");
    DLHOST_ASSIGN(const auto values, neighbours_->read(*slice_, letter, step.peer));
    apply(step, values.data(), made());
    DLHOST_TRY(neighbours_->tell(
        step.peer, {.word = Word::taken, .epoch = neighbours_->epoch, .slice = slice_->id, .version = number_}));
    steps_.clear();
    neighbours_->activity->enter(neighbours_->actor, "arrived", number_);
    exchange_->arrived(step.peer, step.round, steps_);
    neighbours_->activity->leave();
    DLHOST_TRY(follow());
    a = 0; // what it waits for now may be here already
  }
  if (made_ && !awaited_.empty())
    return Status::internal("the sync is done with slice ", slice_->id, " while it waits for parts of it");
  return {};
}

// Who is in the next one has parts of this rank's last one.
Status RowExchange::hear(const Message& message, std::uint32_t from) {
  if (message.word == Word::taken) {
    auto& untaken = untaken_[message.version % rows_.size()];
    if (message.version > number_ || message.version + rows_.size() <= number_ || untaken == 0)
      return neighbours_->wrong(*slice_, message, number_);
    --untaken;
    return {};
  }
  const bool is_now = on_ && !made_ && message.version == number_;
  if (message.word != Word::part || from == neighbours_->rank || (!is_now && message.version != number_ + 1))
    return neighbours_->wrong(*slice_, message, number_);
  if (letters_.size() == letters_.capacity())
    return Status::corrupt("more parts of slice ", slice_->id, " come than any sync sends");
  letters_.push_back(message);
  return is_now ? go_on() : Status();
}

} // namespace dlhost::param
