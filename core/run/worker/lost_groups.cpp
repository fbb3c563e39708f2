#include "run/worker/lost_groups.h"

#include <algorithm>

namespace dlhost::run {

namespace to_worker = param::to_worker;

LostGroups::LostGroups(WorkerEnds& ends, bool mends)
    : ends_(ends), map_(ends.layout.map), number_(ends.number), own_group_(ends.layout.place.server_group),
      mends_(mends), lost_(map_.workers()), joins_(map_.server_groups()) {}

bool LostGroups::any() const { return std::ranges::find(lost_, true) != lost_.end(); }

bool LostGroups::has(std::uint32_t server_group) const {
  const auto first = lost_.begin() + map_.home_of(server_group), last = lost_.begin() + map_.home_of(server_group + 1);
  return std::find(first, last, true) != last;
}

bool LostGroups::has_all(std::uint32_t server_group) const {
  const auto first = lost_.begin() + map_.home_of(server_group), last = lost_.begin() + map_.home_of(server_group + 1);
  return std::find(first, last, false) == last;
}

Status LostGroups::find_joining() {
  Admissions* admissions = ends_.address_book.admissions();
  if (!admissions || admissions->number() == 0) return {};
  DLHOST_ASSIGN(joining_, admissions->admitted());
  if (number_ == 0) await_own_group();
  for (const std::uint32_t group : joining_->lost)
    for (const std::uint32_t worker : map_.workers_of(group)) lost_[worker] = true;
  return {};
}

Status LostGroups::reach_earlier(std::uint32_t worker, const Contact& contact) {
  reach_or_lose(worker, contact);
  if (!lost_[worker]) return {};
  const std::uint32_t group = map_.server_group_of(worker);
  if (group == 0 || number_ == 0) return Status::gone("worker ", worker, " is gone"); // a leader tries again
  joining_->lost.push_back(group);
  return {};
}

// A worker needs the servers of its group. A group without values needs the first one.
Result<bool> LostGroups::lose(std::uint32_t worker) {
  const std::uint32_t group = map_.server_group_of(worker);
  if (!mends_ || !may_lose_ || group == own_group_ || (group == 0 && !has_values_)) return false;
  if (lost_[worker]) return true;
  lost_[worker] = true;
  ++count_;
  if (ends_.shard && worker == map_.home_of(group) + ends_.layout.server()) DLHOST_TRY(ends_.shard->lose(group));
  if (number_ > 0 && worker > 0) DLHOST_TRY(ends_.send(0, to_worker::Lost{.worker = worker, .join = joins_[group]}));
  return true;
}

// The lost worker may be out of reach for the sender only. A message about processes that were replaced since is old.
Status LostGroups::hear_lost(std::uint32_t from, const to_worker::Lost& lost) {
  const std::uint32_t worker = lost.worker;
  if (!mends_ || number_ > 0 || worker == 0 || worker >= map_.workers())
    return Status::corrupt("worker ", from, " reports worker ", worker,
                           " as lost, but that worker cannot be lost, or the report is not for this worker");
  const std::uint32_t group = map_.server_group_of(worker);
  if (lost.join == joins_[group] && !lost_[worker]) ends_.address_book.end(worker);
  return {};
}

// The group's server writes no more. If its versions outlive it, the newest is the sum of what it learned and heard;
// else it said where what it learned lies. A process that joined while the group was lost never saw its memory.
std::optional<Version> LostGroups::learned_by(std::uint32_t server_group, const param::Slice& slice,
                                              std::span<float> learned) const {
  const auto memory = ends_.memory.of(map_.home_of(server_group) + slice.server);
  if (memory.empty()) return {};
  const param::SurvivingVersions published = ends_.memory.published_of(server_group, slice);
  if (!published.has(slice.id)) return {};
  const auto record = published.newest(slice.id);
  if (!ends_.layout.exchange.versions_outlive) {
    if (learned.size_bytes() > memory.size() || record.value > memory.size() - learned.size_bytes()) return {};
    std::copy_n(reinterpret_cast<const float*>(memory.data() + record.value), learned.size(), learned.begin());
    return record.version;
  }
  const param::Masters& masters = ends_.memory.masters_of(server_group);
  const Sync& sync = *ends_.layout.plugins.sync().plugin;
  const auto row = [&](std::span<const std::byte> bytes) {
    return reinterpret_cast<const float*>(bytes.data()) + slice.first;
  };
  const float* value = row(masters.value(slice.param, record.value));
  const float* begun = row(masters.shared(slice.param, param::GroupSync::begun_row(sync)));
  const float* heard = row(masters.shared(slice.param, param::GroupSync::heard_row(sync, record.heard)));
  for (std::size_t i = 0; i < learned.size(); ++i)
    learned[i] = static_cast<float>(double{value[i]} - double{begun[i]} - double{heard[i]});
  return record.version;
}

// If a slice's server has told nothing since its group began, the group goes on from where it began.
void LostGroups::count_left(std::uint32_t server_group, param::StartPoint& at) const {
  const param::StartPoint& begun = ends_.steps.begun;
  const auto workers = map_.workers_of(server_group);
  for (const std::uint32_t worker : workers) at.steps[worker] = ~std::uint64_t{0};
  for (const param::Slice& slice : ends_.slices().all()) {
    const param::SurvivingVersions published = ends_.memory.published_of(server_group, slice);
    const bool told = published.has(slice.id);
    auto& there = at.slices[slice.id];
    Version& version = server_group == 0 ? there.version : there.others[server_group - 1];
    version = told ? published.newest(slice.id).version : begun.version_of(slice.id, server_group);
    for (const std::uint32_t worker : workers) {
      there.steps[worker] =
          told ? published.newest(slice.id).applied[worker - workers.front()] : begun.steps_of(slice.id)[worker];
      at.steps[worker] = std::min(at.steps[worker], there.steps[worker]);
    }
  }
}

// Of a worker whose memory this one never saw, it knows only where it began.
std::uint64_t LostGroups::steps_of(std::uint32_t worker) const {
  const std::uint64_t begun = ends_.steps.begun.steps[worker];
  if (ends_.memory.of(worker).empty()) return begun;
  return std::max(begun, ends_.memory.vitals(worker).steps.load(std::memory_order_acquire));
}

param::StartPoint LostGroups::left() const {
  param::StartPoint left = ends_.steps.begun;
  left.own_values = false;
  left.joining.reset();
  for (std::uint32_t worker = 0; worker < map_.workers(); ++worker) left.steps[worker] = steps_of(worker);
  left.tell_each(ends_.slices().size());
  return left;
}

param::StartPoint LostGroups::left_by(std::uint32_t server_group) const {
  param::StartPoint left = this->left();
  count_left(server_group, left);
  left.sum_up();
  return left;
}

bool LostGroups::sees(std::uint32_t server_group) const {
  return std::ranges::none_of(map_.workers_of(server_group),
                              [this](std::uint32_t worker) { return ends_.memory.of(worker).empty(); });
}

Survival LostGroups::survival() const {
  Survival survival{.left = left(), .joins = joins_};
  for (std::uint32_t group = 0; group < map_.server_groups(); ++group)
    if (group != own_group_ && sees(group)) survival.seen.push_back(group);
  add_lost(survival);
  return survival;
}

void LostGroups::add_lost(Survival& survival) const {
  for (const std::uint32_t group : survival.seen) {
    if (!has(group) || std::ranges::find(survival.lost, group) != survival.lost.end()) continue;
    survival.lost.push_back(group);
    count_left(group, survival.left);
  }
}

Status LostGroups::tell_lost() const {
  for (std::uint32_t worker = 0; worker < map_.workers(); ++worker)
    if (lost_[worker])
      DLHOST_TRY(ends_.send(0, to_worker::Lost{.worker = worker, .join = joins_[map_.server_group_of(worker)]}));
  return {};
}

void LostGroups::count_in(param::StartPoint& reached) const {
  for (std::uint32_t group = 1; group < map_.server_groups(); ++group)
    if (has(group)) count_left(group, reached);
}

Status LostGroups::admit(std::uint32_t server_group, param::Joining joining) {
  admission_ =
      Admission{.server_group = server_group, .joining = joining, .reached = std::vector<bool>(map_.workers())};
  admission_->joining.order = ++admissions_;
  const to_worker::Join join{
      .server_group = server_group, .number = joining.number, .order = admission_->joining.order};
  DLHOST_TRY(hear_join(number_, join));
  for (const std::uint32_t worker : map_.workers_of(server_group)) {
    ends_.steps.done[worker] = ends_.steps.begun.steps[worker];
    admission_->reached[worker] = true;
  }
  for (std::uint32_t worker = 1; worker < map_.workers(); ++worker)
    if (map_.server_group_of(worker) != server_group && !lost_[worker]) DLHOST_TRY(ends_.send(worker, join));
  return {};
}

// All processes of the group have ended by now, even if some of these ends are not known here yet.
Status LostGroups::lose_group(std::uint32_t server_group) {
  for (const std::uint32_t worker : map_.workers_of(server_group)) {
    if (lost_[worker]) continue;
    lost_[worker] = true;
    ++count_;
    ends_.post->forget(worker);
  }
  return ends_.shard ? ends_.shard->lose(server_group) : Status();
}

Status LostGroups::reach(std::uint32_t worker, const Contact& contact) {
  DLHOST_TRY(ends_.post->reconnect(worker, contact.addresses));
  return ends_.memory.see(worker, contact);
}

// A worker that cannot be reached has ended by now, and the leader sees that too.
void LostGroups::reach_or_lose(std::uint32_t worker, const Contact& contact) {
  lost_[worker] = !reach(worker, contact).ok();
  if (lost_[worker]) ends_.post->forget(worker);
}

Status LostGroups::hear_join(std::uint32_t from, const to_worker::Join& join) {
  const std::uint32_t group = join.server_group;
  if (!mends_ || from != param::leading_seat || group == 0 || group >= map_.server_groups() || group == own_group_)
    return Status::corrupt("worker ", from, " says that server group ", group,
                           " joins the run; only the leader says that, and of groups other than its own and this one");
  std::vector<Contact> contacts;
  for (const std::uint32_t worker : map_.workers_of(group)) {
    DLHOST_ASSIGN(contacts.emplace_back(), ends_.address_book.contact(worker));
  }
  DLHOST_TRY(take_in(group, join.number, join.order, contacts));
  return number_ == 0 ? Status() : ends_.send(0, to_worker::Joined{.number = join.number});
}

// If the group is lost before it has told anything, its next processes go on from where these do.
void LostGroups::begin_where_left(std::uint32_t server_group) {
  if (!sees(server_group)) return;
  param::StartPoint begun = ends_.steps.begun;
  begun.tell_each(ends_.slices().size());
  count_left(server_group, begun);
  ends_.steps.begun = std::move(begun);
}

Status LostGroups::take_in(std::uint32_t group, std::uint64_t number, std::uint32_t order,
                           std::span<const Contact> contacts) {
  DLHOST_TRY(lose_group(group));
  begin_where_left(group);
  joins_[group] = number;
  const std::uint32_t home = map_.home_of(group), counterpart = home + number_ - map_.home_of(own_group_);
  for (std::size_t which = 0; which < contacts.size(); ++which) {
    const auto worker = home + static_cast<std::uint32_t>(which);
    reach_or_lose(worker, contacts[which]);
    on_replaced(worker);
  }
  const bool sees_masters = number_ == 0 || ends_.layout.exchange.versions_outlive;
  if (!has(group) && sees_masters && !ends_.memory.see_masters_of(group, ends_.address_book).ok()) {
    lost_[home] = true;
    ends_.post->forget(home);
  }
  if (ends_.shard && !lost_[counterpart]) DLHOST_TRY(ends_.shard->replace(group, ends_.memory.of(counterpart), order));
  return {};
}

// Messages about an admission that was given up may still come.
Status LostGroups::hear_joined(std::uint32_t from, const to_worker::Joined& joined) {
  if (!admission_ || joined.number != admission_->joining.number) return {};
  if (map_.server_group_of(from) == admission_->server_group)
    ++admission_->joined;
  else
    admission_->reached[from] = true;
  return {};
}

bool LostGroups::is_reached() const {
  for (std::uint32_t worker = 1; worker < map_.workers(); ++worker)
    if (!admission_->reached[worker] && !lost_[worker]) return false;
  return true;
}

param::Joining LostGroups::admission() const {
  param::Joining joining = admission_->joining;
  for (std::uint32_t group = 1; group < map_.server_groups(); ++group)
    if (has(group)) joining.lost.push_back(group);
  return joining;
}

bool LostGroups::has_joined() const { return admission_->joined == map_.servers(); }

Status LostGroups::release(std::optional<std::uint64_t> until) {
  const std::uint32_t released = admission_->server_group;
  admission_.reset();
  for (const std::uint32_t worker : map_.workers_of(released)) DLHOST_TRY(ends_.send(worker, to_worker::Put()));
  for (std::uint32_t group = 1; until && group < map_.groups(); ++group)
    if (const std::uint32_t first = group * map_.workers_of_group(); map_.server_group_of(first) == released)
      DLHOST_TRY(ends_.send(first, to_worker::Free{.until = *until}));
  return {};
}

void LostGroups::await_own_group() {
  admissions_ = joining_->order;
  admission_ =
      Admission{.server_group = own_group_, .joining = *joining_, .reached = std::vector<bool>(map_.workers(), true)};
}

std::vector<std::uint64_t> LostGroups::steps_shown() const {
  std::vector<std::uint64_t> steps;
  for (std::uint32_t worker = 0; worker < map_.workers(); ++worker)
    steps.push_back(ends_.memory.vitals(worker).steps.load(std::memory_order_relaxed));
  return steps;
}

std::uint32_t LostGroups::first_that_goes_on() const {
  std::uint32_t group = own_group_ == 0 ? 1 : 0;
  while (group + 1 < map_.server_groups() && (group == own_group_ || has(group))) ++group;
  return group;
}

Status LostGroups::bring_values() {
  const std::uint32_t group = first_that_goes_on(), home = map_.home_of(group);
  DLHOST_ASSIGN(const Contact first, ends_.address_book.contact(home));
  DLHOST_ASSIGN(const auto region, ends_.post->map(home, first.masters));
  param::Masters theirs = ends_.layout.table.masters(ends_.session.store());
  if (region->bytes().size() < theirs.bytes())
    return Status::internal("worker ", home, " has a net of other params than worker ", number_);
  theirs.lie_at(region->bytes(), false);
  const auto copy = [](std::span<const std::byte> from, std::span<std::byte> to) {
    std::ranges::copy(from, to.begin());
  };
  param::Masters& own = ends_.memory.masters();
  const auto& params = ends_.session.store().params();
  for (const auto& param : params)
    if (!param->updated && number_ == ends_.home()) copy(theirs.value(param->number, 0), own.value(param->number, 0));
  for (const param::Slice& slice : ends_.slices().all()) {
    if (!ends_.layout.serves() || slice.server != ends_.layout.server()) continue;
    const auto bring = [&](std::span<const std::byte> from, std::span<std::byte> to) {
      const auto first_byte = static_cast<std::size_t>(slice.first) * sizeof(float);
      const auto bytes = static_cast<std::size_t>(slice.count) * sizeof(float);
      copy(from.subspan(first_byte, bytes), to.subspan(first_byte, bytes));
    };
    const std::size_t begun = param::GroupSync::begun_row(*ends_.layout.plugins.sync().plugin);
    bring(theirs.shared(slice.param, begun), own.shared(slice.param, begun));
    const std::size_t newest =
        ends_.layout.exchange.versions_outlive ? ends_.memory.published_of(group, slice).newest(slice.id).history : 0;
    for (std::size_t slot = 0; slot < params[slice.param]->slots; ++slot)
      bring(theirs.history(slice.param, slot, newest), own.history(slice.param, slot, 0));
  }
  for (std::size_t place = 0; place < ends_.memory.places().states.size(); ++place)
    for (std::uint32_t worker = 0; worker < map_.workers(); ++worker)
      if (worker == number_ || (number_ == 0 && lost_[worker]))
        std::ranges::copy(ends_.memory.state_of(home, place), ends_.memory.state_of(worker, place).begin());
  return {};
}

} // namespace dlhost::run
