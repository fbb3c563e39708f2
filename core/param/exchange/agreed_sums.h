// Sums over several servers. Each server contributes one part to a version and waits for all parts. Parts are added in
// the order of their numbers, not of arrival, so that all servers get the same bits.
//
// A server that has all parts of a version goes on to the next, and may send its part of that while another server
// still waits for this version. It is never more than one version ahead, because the next version needs the other's
// part.
#pragma once

#include <array>
#include <span>
#include <vector>

#include <dlhost/message.h>
#include <dlhost/status.h>

namespace dlhost::param {

class AgreedSums {
 public:
  // For `parts` parts of `values` values each.
  AgreedSums(std::size_t parts, std::size_t values);

  void begin(Version);
  Version version() const { return version_; }
  // Stores a value of a part, which is untrusted. Errors: wrong version or number, or a value that is already here.
  Status put(Version, std::size_t part, std::size_t value, double);
  bool whole() const;
  // The first part that is missing. Requires: not whole().
  std::size_t first_missing() const;
  // Returns the sums over all parts and goes on to the next version.
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
