// A node of the exchange: a process with its own post, which runs the commands of its parent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "transport/channel.h"

namespace dlhost::bench {

constexpr std::string_view table = "table"; // selects the parameter table; other names are syncs

// The settings of a node, as its parent sends them.
struct Plan {
  std::uint32_t rank = 0, nodes = 2;
  std::uint32_t per_host = 1;     // nodes of a host, which share memory
  std::string provider;           // of the network; empty: the transport's choice
  std::int64_t slice = 0;         // elements of a slice at most
  std::vector<std::string> syncs; // the measured ones, or `table`
  std::string codec;              // encodes values between nodes; empty: none
  std::string secret;             // authenticates the nodes, as hex
};
std::string text_of(const Plan&);
Plan plan_of(const std::string& text);

// Runs until the parent says that it is over.
void be_a_node(Channel&);

} // namespace dlhost::bench
