// The tests of the device suite that are not cases.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "context.h"
#include "guarded.h"
#include "values.h"

namespace dlhost::conform {

// Fails at the first element that differs by more than `bound`.
void expect_near(const Values& got, const Values& wanted, double bound, const std::string& what);

// The formats that the device's own ops choose for tensors of this shape, including plain.
std::vector<Format> formats_of(Device&, const Shape&);

void add_memory_tests(const Context&, const std::string& device);  // copies, streams, events
void add_element_tests(const Context&, const std::string& device); // reorders, draws, sharing of memory, block sums

void add_peers_tests(const Context&, const std::string& device); // sums among several devices

// Thrown if the device declines an op that it may decline: skips the test.
struct Declined {
  std::string why;
};

// Prepares an op that a test needs. Skips the test if the device declines it and may do so (--declines).
std::unique_ptr<Op> prepared(const Context&, Device&, const OpSpec&, const Choice& = {});

// A test that is one function of the device.
using DeviceCheck = void (*)(const Context&, Device&);
void add_check(const Context&, const std::string& device, const std::string& name, DeviceCheck);

} // namespace dlhost::conform
