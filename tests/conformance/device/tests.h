// The parts of the device suite that are no cases.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "context.h"
#include "values.h"

namespace dlhost::conform {

void add_test(const std::string& suite, const std::string& name, const std::function<testing::Test*()>& make);

// Fails with the first element that is further off than `bound`.
void expect_near(const Values& got, const Values& wanted, double bound, const std::string& what);

// The formats that the device's own ops choose for tensors of this shape; plain among them.
std::vector<Format> formats_of(Device&, const Shape&);

void add_memory_tests(const Context&, const std::string& device);  // copies, streams, events
void add_element_tests(const Context&, const std::string& device); // reorders, draws, sharing of memory, block sums

void add_peers_tests(const Context&, const std::string& device); // sums among several

// Thrown where the device may decline what a test is about, and does: the test is skipped.
struct Declined {
  std::string why;
};

// An op that a test cannot do without. Where the device may decline it (--declines) and does, the test is skipped.
std::unique_ptr<Op> prepared(const Context&, Device&, const OpSpec&, const Choice& = {});

// A test that is one function of the device.
using DeviceCheck = void (*)(const Context&, Device&);
void add_check(const Context&, const std::string& device, const std::string& name, DeviceCheck);

} // namespace dlhost::conform
