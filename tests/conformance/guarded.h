// The guard of the suites: a plugin that crashes, ends the process or hangs in a test is named, as in a run, and text
// that it wrote reaches the terminal printable and cut.
#pragma once

#include <functional>
#include <string>

#include "context.h"

namespace dlhost::conform {

// Runs `body`, noted as a call of the product. `what`: where a fault is said to have happened.
void guarded(const Context&, Kind, const std::string& product, const std::string& what,
             const std::function<void()>& body);
// Adds a test of a product, to the suite of its kind and name. An exception of `body` is a failure of the test.
void add_test(const Context&, Kind, const std::string& product, const std::string& name, std::function<void()> body);

// Changes GoogleTest's printer. Call after InitGoogleTest, which chooses it.
void print_failures_cut();
// Prints an error of this program.
void say(const std::string& error);

} // namespace dlhost::conform
