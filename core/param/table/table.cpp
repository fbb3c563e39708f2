#include "param/table/table.h"

#include <algorithm>
#include <utility>

namespace dlhost::param {

Table::Table(Setup setup)
    : setup_(std::move(setup)), own_(setup_.post->credit()), views_(setup_.slices->size()),
      news_(setup_.store->params().size()), fetched_(news_.size()) {
  for (const auto& param : setup_.store->params()) {
    const auto part = part_of(param->declared.parts, setup_.worker.rank);
    const auto slices = setup_.slices->size() > 0 ? setup_.slices->of(param->number) : std::span<const Slice>();
    const auto is_own = [&](const Slice& slice) { return part && slice.part == *part; };
    const auto first = std::ranges::find_if(slices, is_own);
    const auto end = std::find_if_not(first, slices.end(), is_own);
    own_slices_.emplace_back(first, end);
  }
  copied_.resize(news_.size());
  kept_.reserve(news_.size());
  if (const auto* consistency = setup_.handlers.job.consistency) first_ = consistency->plan(0, 0);
}

const char* Table::unfollowed(const WorkerPlan& plan, const WorkerPlan& first) {
  const bool own = plan.update_locally;
  if (own != first.update_locally) return own ? "update_locally = true" : "update_locally = false";
  if (plan.send_delta != (own && first.send_delta)) return plan.send_delta ? "send_delta = true" : "send_delta = false";
  if (!own && !plan.push) return "push = false";
  if (!plan.send_delta && plan.delta_factor != 1) return "a delta_factor";
  return nullptr;
}

std::string Table::why_not(std::string_view handler, const char* plans, std::uint64_t step) {
  return concat("consistency handler '", handler, "' plans ", plans, " for step ", step,
                ": not in this version, in which workers either send the gradient of every step and nothing else, or "
                "update values of their own in every step and send only gradients or only differences");
}

void Table::begin(const StartPoint& beginning) {
  for (const Slice& slice : setup_.slices->all())
    views_[slice.id] = {.version = beginning.version_of(slice.id),
                        .sent = beginning.steps_of(slice.id).at(setup_.post->seat())};
  if (shard_) shard_->begin(beginning);
  if (chooser_) chooser_->begin(beginning);
  if (!setup_.replica) return;
  const bool has_values = beginning.own_values && first_.send_delta; // else the worker starts with the servers' values
  setup_.replica->begin(has_values ? nullptr : setup_.masters, beginning.steps.at(setup_.worker.group));
  for (const Slice& slice : setup_.slices->all()) news_[slice.param] = true;
}

Status Table::get(const Slice& slice, std::uint64_t step, Version at_least) {
  views_[slice.id].asked = true;
  return send(setup_.seats[slice.server],
              to_server::Get{.slice = slice.id, .worker = setup_.worker, .step = step, .at_least = at_least});
}

Status Table::settle(const Slice& slice) {
  ++views_[slice.id].settling;
  return send(setup_.seats[slice.server], to_server::Settle{.slice = slice.id, .worker = setup_.worker});
}

Status Table::settle_elsewhere(const Slice& slice, Version version) {
  for (const auto& seats : setup_.other_seats) {
    ++views_[slice.id].settling;
    DLHOST_TRY(
        send(seats[slice.server], to_server::Settle{.slice = slice.id, .worker = setup_.worker, .at_least = version}));
  }
  return {};
}

Status Table::update(std::size_t param, std::uint64_t step, double rate) {
  if (!setup_.clip) return finish_update(param, step, rate);
  kept_.push_back({param, rate});
  return {};
}

// The answer to the `Get` or `Settle` that is sent here also means that the gradient's memory may be written again.
Status Table::finish_update(std::size_t param, std::uint64_t step, double rate) {
  const Handler& handler = setup_.handlers.of(param);
  bool sends = true;
  if (setup_.replica) {
    const View& view = views_[setup_.slices->of(param).front().id];
    DLHOST_ASSIGN(sends, update_own(param, handler.consistency->plan(step, view.version), step, rate));
  }
  for (const Slice& slice : own_slices_[param]) {
    const View& view = views_[slice.id];
    const WorkerPlan next = handler.consistency->plan(step + 1, view.version);
    if (const char* plans = unfollowed(next, first_))
      return Status::unsupported(why_not(handler.actor->plugin, plans, step + 1), "; ", other_handler);
    if (sends) {
      DLHOST_TRY(send_update(slice, step, rate));
      DLHOST_TRY(settle_elsewhere(slice, next.at_least));
    }
    if (next.pull)
      DLHOST_TRY(get(slice, step, next.at_least));
    else if (sends)
      DLHOST_TRY(settle(slice));
  }
  DLHOST_TRY(setup_.post->flush());
  return take_own();
}

Result<bool> Table::update_own(std::size_t param, const WorkerPlan& plan, std::uint64_t step, double rate) {
  const Slice& slice = setup_.slices->of(param).front(); // the only one: a param with several values is not cut
  if (step < views_[slice.id].sent) return false;        // the step is in the servers' value, from which this one began
  Replica& replica = *setup_.replica;
  DLHOST_TRY(replica.update(param, step, rate));
  news_[param] = true;
  if (!plan.push) {
    if (!plan.send_delta) DLHOST_TRY(replica.accrue(param, {step, rate}));
    return false;
  }
  if (plan.send_delta)
    DLHOST_TRY(replica.part_from(param, setup_.masters->value(param, views_[slice.id].place), plan.delta_factor));
  else
    DLHOST_TRY(replica.gather(param));
  return true;
}

SampleRange Table::rows_of(const Slice& slice) const {
  const ParamParts& parts = setup_.store->params()[slice.param]->declared.parts;
  const Holders& holders = holders_of(parts, slice.part);
  const auto own = std::ranges::find(holders, setup_.worker.rank, &Holder::rank);
  return own == holders.end() ? setup_.rows : own->rows;
}

Status Table::send_update(const Slice& slice, std::uint64_t step, double rate) {
  const View& view = views_[slice.id];
  if (step < view.sent) return {};
  based_on_ = std::min(based_on_, view.version);
  const std::uint32_t server = setup_.seats[slice.server];
  std::size_t bytes = static_cast<std::size_t>(slice.count) * sizeof(float);
  to_server::Update update{.slice = slice.id,
                           .worker = setup_.worker,
                           .step = step,
                           .samples = rows_of(slice),
                           .based_on = view.version,
                           .place = setup_.gradients->offset(slice.param),
                           .rate = rate,
                           .kind = first_.send_delta ? ContributionKind::delta : ContributionKind::dense};
  if (const auto& factors = setup_.store->params()[slice.param]->factors) { // the same for all slices of the param
    update.kind = factors->of_rows ? ContributionKind::rows : ContributionKind::factors;
    if (slice.first == 0) factored_.sent += factors->bytes();
    bytes = factors->bytes();
    factored_.dense += static_cast<std::uint64_t>(slice.count) * sizeof(float);
  } else {
    update.place += static_cast<std::size_t>(slice.first) * sizeof(float);
  }
  if (setup_.coder && setup_.coder->encodes(slice)) {
    update.kind = ContributionKind::encoded;
    converts(true);
    DLHOST_ASSIGN(update.place, setup_.coder->encode(slice, update.place, step));
    converts(false);
    bytes = setup_.coder->last_bytes();
  }
  const auto send_to = [&](std::uint32_t seat) {
    return send(seat, update, setup_.control->shown(seat, update.place, bytes, record::Cargo::gradients));
  };
  for (const auto& seats : setup_.other_seats) DLHOST_TRY(send_to(seats[slice.server]));
  return send_to(server);
}

Status Table::end_step(std::uint64_t step) {
  if (setup_.clip) DLHOST_TRY(setup_.clip->run());
  for (const Kept& kept : kept_) DLHOST_TRY(finish_update(kept.param, step, kept.rate));
  kept_.clear();
  if (!setup_.handlers.job.consistency->traits().by_step) return {};
  DLHOST_TRY(send(setup_.seats.front(), to_chooser::Whole{.worker = setup_.worker,
                                                          .step = step,
                                                          .samples = setup_.rows,
                                                          .based_on = std::exchange(based_on_, newest)}));
  return take_own();
}

bool Table::arrived(std::size_t param) const {
  return std::ranges::none_of(
      own_slices_[param], [&](const Slice& slice) { return views_[slice.id].asked || views_[slice.id].settling > 0; });
}

const Slice* Table::unanswered(std::size_t param) const {
  const auto slices = param == no_param ? setup_.slices->all() : setup_.slices->of(param);
  const auto first = std::ranges::find_if(slices, [&](const Slice& slice) {
    const View& view = views_[slice.id];
    return view.asked || view.looked || view.settling > 0;
  });
  return first == slices.end() ? nullptr : &*first;
}

// Moves the store to the newest value, whose copies are then made anew. What a worker holds of a param with several
// values is one slice.
void Table::adopt(std::size_t param) {
  if (!news_[param] || own_slices_[param].empty()) return;
  news_[param] = false;
  const Slice& slice = own_slices_[param].front();
  std::span<std::byte> value = setup_.masters->value(param, views_[slice.id].place);
  if (Replica* replica = setup_.replica.get()) {
    converts(true);
    if (fetched_[param]) replica->fetch(param, value);
    converts(false);
    fetched_[param] = false;
    value = replica->value(param);
  }
  setup_.store->move(*setup_.store->params()[param], value);
}

Status Table::collect(std::size_t param) {
  DLHOST_TRY(progress());
  awaited_ = param;
  Status status = attend_until([&] { return arrived(param); });
  if (status.code() == Code::gone)
    return std::move(status).at("worker ", setup_.post->seat(), " waits for param '",
                                setup_.store->params()[param]->declared.name, "'");
  DLHOST_TRY(std::move(status));
  awaited_ = no_param;
  setup_.control->beat(); // shows that the wait is over, in case the worker hangs in the computation that follows
  adopt(param);
  return {};
}

Status Table::look() {
  for (const Slice& slice : setup_.slices->all()) {
    views_[slice.id].looked = true;
    DLHOST_TRY(send(setup_.seats[slice.server], to_server::Look{.slice = slice.id, .worker = setup_.worker}));
  }
  DLHOST_TRY(wait_until([&] { return std::ranges::none_of(views_, &View::looked); }));
  gathered_.clear();
  for (std::size_t param = 0; param < news_.size(); ++param) {
    if (!news_[param] && !copied_[param]) continue;
    Param& moved = *setup_.store->params()[param];
    const auto whole = [&](const auto& where) { return gathered_.whole(*setup_.slices, param, where); };
    const auto value = whole([&](const Slice& slice) { return setup_.masters->value(param, views_[slice.id].place); });
    const bool is_apart = std::ranges::any_of(setup_.slices->of(param), [&](const Slice& slice) {
      return setup_.masters->value(param, views_[slice.id].place).data() != value.data();
    });
    if (is_apart && moved.declared.parts.empty())
      return Status::internal("the slices of param '", moved.declared.name,
                              "' have their newest values in different places, and it is not in parts: they are of "
                              "different versions");
    copied_[param] = !gathered_.copies().empty() && gathered_.copies().back().data() == value.data();
    setup_.store->move(moved, value);
    for (std::size_t slot = 0; slot < moved.history.size(); ++slot)
      setup_.store->move_history(moved, slot, whole([&](const Slice& slice) {
                                   return setup_.masters->history(param, slot, views_[slice.id].history);
                                 }));
    news_[param] = setup_.replica != nullptr; // the next step computes with the worker's own value again
  }
  return {};
}

// Settles first: the gradients' memory belongs to the servers until they have processed the updates in it.
Status Table::flush() {
  if (!setup_.replica) return {};
  DLHOST_TRY(settle());
  for (const Slice& slice : setup_.slices->all())
    if (const auto accrued = setup_.replica->release(slice.param)) {
      DLHOST_TRY(send_update(slice, accrued->step, accrued->rate));
      DLHOST_TRY(settle(slice));
    }
  return {};
}

// A `Settle` that has no answer yet already covers all that was sent.
Status Table::settle() {
  for (const Slice& slice : setup_.slices->all())
    if (views_[slice.id].settling == 0) DLHOST_TRY(settle(slice));
  return wait_until([&] { return std::ranges::none_of(views_, [](const View& view) { return view.settling > 0; }); });
}

Status Table::receive() {
  return wait_until([&] { return std::ranges::none_of(views_, &View::asked); });
}

// Under handlers that choose whole steps, the chooser alone counts the workers.
Status Table::leave(WorkerId worker) {
  if (setup_.handlers.job.consistency->traits().by_step)
    return send(setup_.seats.front(), to_chooser::Leave{.worker = worker});
  for (const std::uint32_t seat : setup_.seats) DLHOST_TRY(send(seat, to_server::Leave{.worker = worker}));
  return {};
}

Status Table::send(std::uint32_t seat, const Body& body, const Post::Shown& shown) {
  if (seat != setup_.post->seat()) return setup_.post->send(seat, body, shown);
  if (own_.full())
    return Status::internal("seat ", seat, " has more messages to itself than its limit (", own_.capacity(), ")");
  own_.push_back(body);
  return {};
}

// After a failure the remaining messages are processed too, as by the post.
Status Table::take_own() {
  if (own_.empty()) return {};
  Status first;
  while (!own_.empty()) {
    const Body body = own_.front();
    own_.pop_front();
    Status status = take(setup_.post->seat(), body);
    if (first.ok()) first = std::move(status);
  }
  Status flushed = setup_.post->flush();
  return first.ok() ? std::move(flushed) : std::move(first);
}

// After a failure others' messages are taken too: one of them may end the run.
Status Table::progress(Nanoseconds limit) {
  setup_.control->beat();
  const bool waits = own_.empty(); // else what the caller waits for may have come
  Status first = take_own();
  Status arrived = setup_.post->progress(*this, waits ? limit : 0);
  if (first.ok()) first = std::move(arrived);
  Status own = take_own();
  if (first.ok()) first = std::move(own);
  DLHOST_TRY(std::move(first));
  return limit > 0 ? setup_.control->watch() : Status();
}

// The time served during a pause does not count as serving, because it belongs to no step.
Status Table::rest() {
  Clock& clock = setup_.host->clock();
  const Nanoseconds begin = clock.now(), served = times_.serving;
  Status status = setup_.control->attend();
  times_.rested += clock.now() - begin;
  times_.serving = served;
  return status;
}

void Table::converts(bool begins) {
  const Nanoseconds now = setup_.host->clock().now();
  times_.converting += begins ? -now : now;
}

// The table of receivers.
Status Table::take(std::uint32_t from, const Body& body) {
  return dispatch(
      body, [&](const ToServer& message) { return serve(from, message); },
      [&](const ToNeighbour& message) { return serve(from, message); },
      [&](const ToChooser& message) { return choose(from, message); },
      [&](const ToClient& message) { return take_answer(message); },
      [&](const ToWorker& message) { return setup_.control->take(from, message); });
}

template <class ToShard> Status Table::serve(std::uint32_t from, const ToShard& message) {
  if (!shard_) return Status::corrupt("seat ", setup_.post->seat(), " has no server, but got a message for one");
  Clock& clock = setup_.host->clock();
  const Nanoseconds begin = clock.now();
  Status status = shard_->take(from, message);
  times_.serving += clock.now() - begin;
  return status;
}

Status Table::choose(std::uint32_t from, const ToChooser& message) {
  if (!chooser_) return Status::corrupt("seat ", setup_.post->seat(), " has no chooser, but got a message for one");
  return chooser_->take(from, message);
}

Status Table::take_answer(const ToClient& message) {
  return dispatch(
      message,
      [&](const to_client::Value& value) {
        DLHOST_TRY(move_to(value.slice, value.version, value.place, value.history));
        views_[value.slice].asked = false;
        fetched_[(*setup_.slices)[value.slice].param] = !first_.send_delta;
        return Status();
      },
      [&](const to_client::Seen& value) {
        DLHOST_TRY(move_to(value.slice, value.version, value.place, value.history));
        views_[value.slice].looked = false;
        return Status();
      },
      [&](const to_client::Settled& settled) { return end_settling(settled.slice); });
}

// Versions never decrease, under any handler.
Status Table::move_to(SliceId slice, Version version, std::size_t place, std::size_t history) {
  if (slice >= views_.size() || place >= setup_.masters->values((*setup_.slices)[slice].param) ||
      history >= setup_.masters->copies().histories)
    return Status::corrupt("value ", place, " of slice ", slice, ", which does not exist");
  View& view = views_[slice];
  if (version < view.version)
    return Status::corrupt("version ", version, " of slice ", slice, " arrives after version ", view.version,
                           ": versions may not decrease");
  view.version = version;
  view.place = place;
  view.history = history;
  news_[(*setup_.slices)[slice].param] = true;
  return {};
}

Status Table::end_settling(SliceId slice) {
  if (slice >= views_.size()) return Status::corrupt("slice ", slice, ", which does not exist");
  if (views_[slice].settling == 0)
    return Status::corrupt("slice ", slice, " is settled, but this worker has not asked");
  --views_[slice].settling;
  return {};
}

} // namespace dlhost::param
