#include "param/table.h"

#include <algorithm>
#include <utility>

namespace dlhost::param {

Table::Table(Setup setup)
    : setup_(std::move(setup)), views_(setup_.slices->size()), news_(setup_.store->params().size()) {
  kept_.reserve(news_.size());
}

Status Table::can_follow(const WorkerPlan& plan, std::uint64_t step, const plugin::Actor* handler) {
  const char* wanted = !plan.push               ? "push = false"
                       : plan.update_locally    ? "update_locally = true"
                       : plan.send_delta        ? "send_delta = true"
                       : plan.delta_factor != 1 ? "a delta_factor"
                                                : nullptr;
  if (!wanted) return {};
  return Status::unsupported("consistency handler '", handler->plugin, "' plans ", wanted, " for step ", step,
                             ": not in this version, whose workers send the gradient of each step, and nothing else; "
                             "choose another handler (topology.consistency)");
}

void Table::begin(const Beginning& beginning) {
  std::ranges::fill(views_, View{.version = beginning.version});
  if (shard_) shard_->begin(beginning);
  if (chooser_) chooser_->begin(beginning);
}

Message Table::about(SliceId slice, Word word) const {
  return {.word = word, .epoch = setup_.epoch, .slice = slice, .group = setup_.group, .rank = setup_.rank};
}

Status Table::ask(const Slice& slice, Word word, std::uint64_t step, Version at_least) {
  View& view = views_[slice.id];
  (word == Word::get ? view.asked : word == Word::look ? view.looked : view.settling) = true;
  Message message = about(slice.id, word);
  message.step = step;
  message.version = at_least;
  return send(setup_.seats[slice.server], message);
}

Status Table::update(std::size_t param, std::uint64_t step, double rate) {
  if (!setup_.clip) return send_update(param, step, rate);
  kept_.push_back({param, rate});
  return {};
}

Status Table::send_update(std::size_t param, std::uint64_t step, double rate) {
  for (const Slice& slice : setup_.slices->of(param)) {
    const View& view = views_[slice.id];
    based_on_ = std::min(based_on_, view.version);
    const WorkerPlan next = setup_.consistency->plan(step + 1, view.version);
    DLHOST_TRY(can_follow(next, step + 1, setup_.consistency_actor));
    Message message = about(slice.id, Word::update);
    message.step = step;
    message.samples = setup_.rows;
    message.version = view.version;
    message.place = setup_.gradients->offset(param) + static_cast<std::size_t>(slice.first) * sizeof(float);
    message.rate = rate;
    DLHOST_TRY(send(setup_.seats[slice.server], message));
    // The answer also says that the gradient has been read, and may be made anew.
    DLHOST_TRY(ask(slice, next.pull ? Word::get : Word::settle, step, next.at_least));
  }
  return {};
}

// What it is based on is the oldest that it computed with.
Status Table::end_step(std::uint64_t step) {
  if (setup_.clip) DLHOST_TRY(setup_.clip->run());
  for (const Kept& kept : kept_) DLHOST_TRY(send_update(kept.param, step, kept.rate));
  kept_.clear();
  if (!setup_.consistency->traits().by_step) return {};
  Message message = about(0, Word::whole);
  message.step = step;
  message.samples = setup_.rows;
  message.version = std::exchange(based_on_, newest);
  return send(setup_.seats.front(), message);
}

bool Table::arrived(std::size_t param) const {
  return std::ranges::none_of(setup_.slices->of(param),
                              [&](const Slice& slice) { return views_[slice.id].asked || views_[slice.id].settling; });
}

// Copies that were made of what was there before are old. Where several versions can be there, a param is one slice.
void Table::adopt(std::size_t param) {
  if (!news_[param]) return;
  news_[param] = false;
  const Slice& slice = setup_.slices->of(param).front();
  setup_.store->move(*setup_.store->params()[param], setup_.masters->value(param, views_[slice.id].place));
}

Status Table::collect(std::size_t param) {
  DLHOST_TRY(progress());
  awaited_ = param;
  DLHOST_TRY(attend_until([&] { return arrived(param); }));
  awaited_ = no_param;
  adopt(param);
  return {};
}

Status Table::look() {
  for (const Slice& slice : setup_.slices->all()) DLHOST_TRY(ask(slice, Word::look));
  DLHOST_TRY(wait_until([&] { return std::ranges::none_of(views_, &View::looked); }));
  for (std::size_t param = 0; param < news_.size(); ++param) adopt(param);
  return {};
}

Status Table::settle() {
  for (const Slice& slice : setup_.slices->all()) DLHOST_TRY(ask(slice, Word::settle));
  return wait_until([&] { return std::ranges::none_of(views_, &View::settling); });
}

Status Table::leave(std::uint16_t rank) {
  for (const std::uint32_t seat : setup_.seats) {
    Message message = about(0, Word::leave);
    message.rank = rank;
    DLHOST_TRY(send(seat, message));
  }
  return {};
}

Status Table::send(std::uint32_t seat, Message message) {
  if (seat != setup_.post->seat()) return setup_.post->send(seat, message);
  message.seat = static_cast<std::uint16_t>(seat);
  return take(message);
}

Status Table::take(const Message& message) {
  switch (message.word) {
  case Word::update:
  case Word::get:
  case Word::look:
  case Word::settle:
  case Word::chosen:
  case Word::dropped:
  case Word::norm:
  case Word::sums:
  case Word::leave:
    if (!shard_) return Status::corrupt("seat ", setup_.post->seat(), " got a message for a server, which it is not");
    if (chooser_ && message.word == Word::leave) DLHOST_TRY(chooser_->take(message));
    return shard_->take(message);
  case Word::value:
  case Word::seen: {
    if (message.slice >= views_.size() || message.place >= setup_.masters->versions())
      return Status::corrupt("value ", message.place, " of slice ", message.slice, ", which there is not");
    View& view = views_[message.slice];
    view.version = message.version;
    view.place = message.place;
    (message.word == Word::value ? view.asked : view.looked) = false;
    news_[(*setup_.slices)[message.slice].param] = true;
    return {};
  }
  case Word::whole:
    if (!chooser_)
      return Status::corrupt("seat ", setup_.post->seat(), " got a message for a chooser, which it is not");
    return chooser_->take(message);
  case Word::settled:
    if (message.slice >= views_.size()) return Status::corrupt("slice ", message.slice, ", which there is not");
    views_[message.slice].settling = false;
    return {};
  default: return setup_.control->take(message);
  }
}

} // namespace dlhost::param
