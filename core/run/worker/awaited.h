// What a worker waits for, and on whom: so it shows it to the others, who name it when it hangs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dlhost::run {

// A word, so that it is written and read at once.
struct alignas(std::uint64_t) Awaited {
  enum class What : std::uint16_t {
    nothing,      // it computes
    param,        // its server's answer
    contribution, // to a param that the server beside it serves: another worker's
    norm,         // of another server, by which that param's next version is clipped
    sum,          // of another server, over its part of that param
    exchange,     // of that param with other server groups
    beginning,    // what all begin with
    step,         // its leader's word that it may be made
    parts,        // of the step, of those whom it leads
    rest,         // of others, who are to stand still
    word,         // to go on, of who held it
    answers,      // of servers: that they have dealt with what they were sent, or what they have
    steps,        // of the other groups
    sums,         // of gradients, by the devices
    input
  };
  static constexpr std::uint16_t nobody = 0xFFFF;

  What what = What::nothing;
  std::uint16_t seat = nobody; // on whom; nobody: on several, or on none of the workers
  std::uint32_t param = 0;     // by its number in the store

  bool is_of_param() const { return what >= What::param && what <= What::exchange; }
};

// "param 'fc.weight' on worker 1, its server"; empty: it waits for nothing.
std::string in_words(const Awaited&, std::string_view param);

} // namespace dlhost::run
