#pragma once

#include "trained.h"

namespace dlhost::test {

// Tests run on ref, near and far.
class Proofs : public Bench, public ::testing::WithParamInterface<const char*> {
 protected:
  bool is_far() const { return std::string(GetParam()) == "true"; }
  std::vector<std::string> with(std::vector<std::string> set) const {
    set.push_back(concat("train.device={ type = \"ref\", far = ", GetParam(), " }"));
    return set;
  }
};

inline auto near_and_far() { return ::testing::Values("false", "true"); }
inline std::string near_or_far(const ::testing::TestParamInfo<const char*>& each) {
  return std::string(each.param) == "true" ? "Far" : "Near";
}

} // namespace dlhost::test
