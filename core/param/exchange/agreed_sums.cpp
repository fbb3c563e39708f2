#include "param/exchange/agreed_sums.h"

#include <algorithm>

namespace dlhost::param {

AgreedSums::AgreedSums(std::size_t parts, std::size_t values) : values_(values), totals_(values) {
  for (Round& round : rounds_) {
    round.values.resize(parts * values);
    round.here.resize(parts * values);
  }
  begin(0);
}

void AgreedSums::begin(Version version) {
  version_ = version;
  for (Round& round : rounds_) {
    std::fill(round.here.begin(), round.here.end(), false);
    round.missing = round.here.size();
  }
}

Status AgreedSums::put(Version version, std::size_t part, std::size_t value, double sum) {
  const std::size_t place = part * values_ + value;
  Round& round = this->round(version);
  if (version < version_ || version > version_ + 1 || value >= values_ || place >= round.here.size() ||
      round.here[place])
    return Status::corrupt("sum ", value, " of part ", part, " for version ", version,
                           ", which nobody waits for in version ", version_);
  round.values[place] = sum;
  round.here[place] = true;
  --round.missing;
  return {};
}

bool AgreedSums::whole() const { return rounds_[version_ % rounds_.size()].missing == 0; }

std::size_t AgreedSums::first_missing() const {
  const auto& here = rounds_[version_ % rounds_.size()].here;
  return static_cast<std::size_t>(std::ranges::find(here, false) - here.begin()) / values_;
}

std::span<const double> AgreedSums::take() {
  Round& round = this->round(version_);
  std::ranges::fill(totals_, 0.0);
  for (std::size_t place = 0; place < round.values.size(); ++place) totals_[place % values_] += round.values[place];
  std::fill(round.here.begin(), round.here.end(), false);
  round.missing = round.here.size();
  ++version_;
  return totals_;
}

} // namespace dlhost::param
