// Sums that several servers make together: each says its part for a version, and nobody goes on before all parts are
// there. They are added up in the order of the parts, whoever was first, so that all have the same bits.
//
// Who has all parts of a version goes on to the next, and may say its part of that one while another server still waits
// for this one's: never more than one ahead, since the other has yet to say its own.
#pragma once

#include <array>
#include <span>
#include <vector>

#include <dlhost/message.h>
#include <dlhost/status.h>

namespace dlhost::param {

class AgreedSums {
 public:
  // So many parts, of so many values each.
  AgreedSums(std::size_t parts, std::size_t values);

  void begin(Version);
  Version version() const { return version_; }
  // A value of a part; comes from outside.
  Status put(Version, std::size_t part, std::size_t value, double);
  bool whole() const;
  // While it is not whole: whose part.
  std::size_t first_missing() const;
  // Of all parts; and on to the next version.
  std::span<const double> take();

 private:
  struct Round {
    std::vector<double> values; // part by part
    std::vector<bool> here;
    std::size_t missing = 0;
  };
  Round& round(Version version) { return rounds_[version % rounds_.size()]; }

  std::size_t values_;
  std::array<Round, 2> rounds_;
  Version version_ = 0;
  std::vector<double> totals_;
};

} // namespace dlhost::param
