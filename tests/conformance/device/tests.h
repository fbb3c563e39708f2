// The parts of the device suite that are no cases.
#pragma once

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "context.h"

namespace dlhost::conform {

void add_test(const std::string& suite, const std::string& name, const std::function<testing::Test*()>& make);

void add_memory_tests(const Context&, const std::string& device);  // copies, streams, events
void add_element_tests(const Context&, const std::string& device); // reorders, draws, sharing of memory, block sums

// A test that is one function of the device.
using DeviceCheck = void (*)(const Context&, Device&);
void add_check(const Context&, const std::string& device, const std::string& name, DeviceCheck);

} // namespace dlhost::conform
