#include "param/table/table.h"

#include <algorithm>
#include <utility>

namespace dlhost::param {

Table::Table(Setup setup)
    : setup_(std::move(setup)), views_(setup_.slices->size()), news_(setup_.store->params().size()),
      fetched_(news_.size()) {
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
  setup_.replica->begin(has_values ? nullptr : setup_.masters, beginning.steps.at(setup_.group));
  for (const Slice& slice : setup_.slices->all()) news_[slice.param] = true;
}

Message Table::about(SliceId slice, Word word) const {
  return {.word = word, .slice = slice, .group = setup_.group, .rank = setup_.rank};
}

Status Table::ask(const Slice& slice, Word word, std::uint64_t step, Version at_least) {
  View& view = views_[slice.id];
  if (word == Word::settle)
    ++view.settling;
  else
    (word == Word::get ? view.asked : view.looked) = true;
  Message message = about(slice.id, word);
  message.step = step;
  message.version = at_least;
  return send(setup_.seats[slice.server], message);
}

Status Table::settle_elsewhere(const Slice& slice, Version version) {
  for (const auto& seats : setup_.other_seats) {
    ++views_[slice.id].settling;
    Message message = about(slice.id, Word::settle);
    message.version = version;
    DLHOST_TRY(send(seats[slice.server], message));
  }
  return {};
}

Status Table::update(std::size_t param, std::uint64_t step, double rate) {
  if (!setup_.clip) return finish_update(param, step, rate);
  kept_.push_back({param, rate});
  return {};
}

// The answer to the `get` or `settle` that is sent here also means that the gradient's memory may be written again.
Status Table::finish_update(std::size_t param, std::uint64_t step, double rate) {
  const Handler& handler = setup_.handlers.of(param);
  bool sends = true;
  if (setup_.replica) {
    const View& view = views_[setup_.slices->of(param).front().id];
    DLHOST_ASSIGN(sends, update_own(param, handler.consistency->plan(step, view.version), step, rate));
  }
  for (const Slice& slice : setup_.slices->of(param)) {
    const View& view = views_[slice.id];
    const WorkerPlan next = handler.consistency->plan(step + 1, view.version);
    if (const char* plans = unfollowed(next, first_))
      return Status::unsupported(why_not(handler.actor->plugin, plans, step + 1), "; ", other_handler);
    if (sends) {
      DLHOST_TRY(send_update(slice, step, rate));
      DLHOST_TRY(settle_elsewhere(slice, next.at_least));
    }
    if (next.pull)
      DLHOST_TRY(ask(slice, Word::get, step, next.at_least));
    else if (sends)
      DLHOST_TRY(ask(slice, Word::settle, step));
  }
  return setup_.post->flush();
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

Status Table::send_update(const Slice& slice, std::uint64_t step, double rate) {
  const View& view = views_[slice.id];
  if (step < view.sent) return {};
  based_on_ = std::min(based_on_, view.version);
  const std::uint32_t server = setup_.seats[slice.server];
  std::size_t bytes = static_cast<std::size_t>(slice.count) * sizeof(float);
  Message message = about(slice.id, Word::update);
  message.contribution = first_.send_delta ? ContributionKind::delta : ContributionKind::dense;
  message.step = step;
  message.samples = setup_.rows;
  message.version = view.version;
  message.place = setup_.gradients->offset(slice.param);
  if (const auto& factors = setup_.store->params()[slice.param]->factors) { // the same for all slices of the param
    message.contribution = factors->of_rows ? ContributionKind::rows : ContributionKind::factors;
    if (slice.first == 0) factored_.sent += factors->bytes();
    bytes = factors->bytes();
    factored_.dense += static_cast<std::uint64_t>(slice.count) * sizeof(float);
  } else {
    message.place += static_cast<std::size_t>(slice.first) * sizeof(float);
  }
  if (setup_.coder && setup_.coder->encodes(slice)) {
    message.contribution = ContributionKind::encoded;
    converts(true);
    DLHOST_ASSIGN(message.place, setup_.coder->encode(slice, message.place, step));
    converts(false);
    bytes = setup_.coder->last_bytes();
  }
  message.rate = rate;
  const auto send_to = [&](std::uint32_t seat) {
    return send(seat, message, setup_.control->shown(seat, message.place, bytes, record::Cargo::gradients));
  };
  for (const auto& seats : setup_.other_seats) DLHOST_TRY(send_to(seats[slice.server]));
  return send_to(server);
}

// The version in `whole` is the oldest of all versions that the step computed with.
Status Table::end_step(std::uint64_t step) {
  if (setup_.clip) DLHOST_TRY(setup_.clip->run());
  for (const Kept& kept : kept_) DLHOST_TRY(finish_update(kept.param, step, kept.rate));
  kept_.clear();
  if (!setup_.handlers.job.consistency->traits().by_step) return {};
  Message message = about(0, Word::whole);
  message.step = step;
  message.samples = setup_.rows;
  message.version = std::exchange(based_on_, newest);
  return send(setup_.seats.front(), message);
}

bool Table::arrived(std::size_t param) const {
  return std::ranges::none_of(setup_.slices->of(param), [&](const Slice& slice) {
    return views_[slice.id].asked || views_[slice.id].settling > 0;
  });
}

const Slice* Table::unanswered(std::size_t param) const {
  const auto slices = param == no_param ? setup_.slices->all() : setup_.slices->of(param);
  const auto first = std::ranges::find_if(slices, [&](const Slice& slice) {
    const View& view = views_[slice.id];
    return view.asked || view.looked || view.settling > 0;
  });
  return first == slices.end() ? nullptr : &*first;
}

// Moves the store to the newest value, whose copies are then made anew. A param with several values is one slice.
void Table::adopt(std::size_t param) {
  if (!news_[param]) return;
  news_[param] = false;
  const Slice& slice = setup_.slices->of(param).front();
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
  for (const Slice& slice : setup_.slices->all()) DLHOST_TRY(ask(slice, Word::look));
  DLHOST_TRY(wait_until([&] { return std::ranges::none_of(views_, &View::looked); }));
  for (std::size_t param = 0; param < news_.size(); ++param) {
    if (!news_[param]) continue;
    const View& view = views_[setup_.slices->of(param).front().id];
    Param& moved = *setup_.store->params()[param];
    setup_.store->move(moved, setup_.masters->value(param, view.place));
    for (std::size_t slot = 0; slot < moved.history.size(); ++slot)
      setup_.store->move_history(moved, slot, setup_.masters->history(param, slot, view.history));
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
      DLHOST_TRY(ask(slice, Word::settle));
    }
  return {};
}

// A `settle` that has no answer yet already covers all that was sent.
Status Table::settle() {
  for (const Slice& slice : setup_.slices->all())
    if (views_[slice.id].settling == 0) DLHOST_TRY(ask(slice, Word::settle));
  return wait_until([&] { return std::ranges::none_of(views_, [](const View& view) { return view.settling > 0; }); });
}

Status Table::receive() {
  return wait_until([&] { return std::ranges::none_of(views_, &View::asked); });
}

Status Table::leave(std::uint16_t group, std::uint16_t rank) {
  for (const std::uint32_t seat : setup_.seats) {
    Message message = about(0, Word::leave);
    message.group = group;
    message.rank = rank;
    DLHOST_TRY(send(seat, message));
  }
  return {};
}

Status Table::send(std::uint32_t seat, Message message, const Post::Shown& shown) {
  if (seat != setup_.post->seat()) return setup_.post->send(seat, message, shown);
  message.seat = static_cast<std::uint16_t>(seat);
  message.epoch = setup_.post->epoch();
  return take(message);
}

Status Table::serve(const Message& message) {
  if (!shard_) return Status::corrupt("seat ", setup_.post->seat(), " has no server, but got a message for one");
  if (chooser_ && message.word == Word::leave) DLHOST_TRY(chooser_->take(message));
  Clock& clock = setup_.host->clock();
  const Nanoseconds begin = clock.now(), before = times_.serving;
  Status status = shard_->take(message);
  times_.serving = before + (clock.now() - begin); // includes nested calls, for messages to this seat itself
  return status;
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

Status Table::take(const Message& message) {
  switch (message.word) {
  case Word::update:
  case Word::get:
  case Word::look:
  case Word::settle:
  case Word::chosen:
  case Word::dropped:
  case Word::folded:
  case Word::norm:
  case Word::sums:
  case Word::leave:
  case Word::call:
  case Word::part:
  case Word::taken:
  case Word::align:
  case Word::attest:
  case Word::recall:
  case Word::recalled: return serve(message);
  case Word::value:
  case Word::seen: {
    if (message.slice >= views_.size() ||
        message.place >= setup_.masters->values((*setup_.slices)[message.slice].param) ||
        message.step >= setup_.masters->copies().histories)
      return Status::corrupt("value ", message.place, " of slice ", message.slice, ", which does not exist");
    View& view = views_[message.slice];
    if (message.version < view.version) // under every handler
      return Status::corrupt("version ", message.version, " of slice ", message.slice, " arrives after version ",
                             view.version, ": versions may not decrease");
    view.version = message.version;
    view.place = message.place;
    view.history = message.step;
    (message.word == Word::value ? view.asked : view.looked) = false;
    news_[(*setup_.slices)[message.slice].param] = true;
    if (message.word == Word::value) fetched_[(*setup_.slices)[message.slice].param] = !first_.send_delta;
    return {};
  }
  case Word::whole:
  case Word::complete:
    if (!chooser_) return Status::corrupt("seat ", setup_.post->seat(), " has no chooser, but got a message for one");
    return chooser_->take(message);
  case Word::settled:
    if (message.slice >= views_.size()) return Status::corrupt("slice ", message.slice, ", which does not exist");
    if (views_[message.slice].settling == 0)
      return Status::corrupt("slice ", message.slice, " is settled, but this worker has not asked");
    --views_[message.slice].settling;
    return {};
  default: return setup_.control->take(message);
  }
}

} // namespace dlhost::param
