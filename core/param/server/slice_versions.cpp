#include "param/server/slice_versions.h"

#include <algorithm>
#include <utility>

namespace dlhost::param {

SliceVersions::SliceVersions(const Setup& setup)
    : setup_(setup), read_(setup.contributors->all().size(), nothing), shown_(setup.contributors->all().machines()),
      contained_(read_.size()) {
  pin_all();
}

// Workers read the start values without a `Get`.
void SliceVersions::pin_all() {
  for (std::size_t contributor = 0; contributor < read_.size(); ++contributor) pin(contributor);
}

void SliceVersions::begin(Version version, std::span<const std::uint64_t> steps) {
  version_ = version;
  place_ = history_ = 0;
  pin_all();
  std::ranges::fill(shown_, revision_); // all machines begin with the same values
  std::ranges::copy(steps, contained_.begin());
}

std::string SliceVersions::name_for(const Contributor& worker) const {
  return concat("worker ", worker.rank, " of group ", worker.group, ", for slice ", slice().id, " of '",
                setup_.param->declared.name, "'");
}

float* SliceVersions::value(std::size_t place) const {
  return reinterpret_cast<float*>(setup_.masters->value(slice().param, place).data()) + slice().first;
}

std::span<const std::byte> SliceVersions::part_of(std::span<const std::byte> row) const {
  return row.subspan(static_cast<std::size_t>(slice().first) * sizeof(float),
                     static_cast<std::size_t>(slice().count) * sizeof(float));
}

bool SliceVersions::is_read(std::size_t place) const { return std::ranges::find(read_, place) != read_.end(); }

// The place of the newest value counts as free too if no worker reads it and it need not outlive this server. If a
// worker reads it, the other readers leave at least one of the other places free.
Result<std::size_t> SliceVersions::room() const {
  const std::size_t places = setup_.masters->values(slice().param);
  const bool outlives = setup_.surviving && setup_.each_outlives;
  if (places == 1 || (!outlives && !is_read(place_))) return place_;
  for (std::size_t place = 0; place < places; ++place)
    if (place != place_ && !is_read(place)) return place;
  return Status::internal("no place is left for a new version of slice ", slice().id);
}

void SliceVersions::moved(std::size_t place, std::size_t history) {
  place_ = place;
  history_ = history;
  ++revision_;
}

bool SliceVersions::show_to(std::size_t machine) { return std::exchange(shown_[machine], revision_) != revision_; }

void SliceVersions::contain(std::size_t contributor, std::uint64_t steps) {
  contained_[contributor] = std::max(contained_[contributor], steps);
  contributors().tell_others(contributors().all()[contributor].group, contained_);
}

void SliceVersions::publish(std::size_t heard) {
  if (setup_.surviving && setup_.each_outlives)
    setup_.surviving->add(slice().id, {version_, place_, history_, heard, contained_});
}

void SliceVersions::publish_changes(Version version, std::uint64_t place) {
  setup_.surviving->add(slice().id, {.version = version, .value = place, .applied = contained_});
}

void SliceVersions::unpublish() {
  if (setup_.surviving) setup_.surviving->clear(slice().id);
}

} // namespace dlhost::param
