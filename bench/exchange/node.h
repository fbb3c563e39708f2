// One of the nodes among which rows are exchanged: a process with a post of its own, which is told what to do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "transport/channel.h"

namespace dlhost::bench {

constexpr std::string_view table = "table"; // the parameter table, among the names of syncs

// What all nodes do, as the program that starts them says it.
struct Plan {
  std::uint32_t rank = 0, nodes = 2;
  std::uint32_t per_host = 1;     // of them: these reach one another by shared memory
  std::string provider;           // of the network; empty: the transport's choice
  std::int64_t slice = 0;         // elements of a slice at most
  std::vector<std::string> syncs; // that are measured, or the table
  std::string codec;              // what goes from node to node goes through it; empty: as it is
  std::string secret;             // by which they know one another, as hex
};
std::string text_of(const Plan&);
Plan plan_of(const std::string& text);

// Until the program that started it says that it is over.
void be_a_node(Channel&);

} // namespace dlhost::bench
