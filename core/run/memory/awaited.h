// The thing and the worker that a worker waits for. It publishes this, so that other workers can name it in a hang.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dlhost::run {

// One machine word, so that it is read and written atomically.
struct alignas(std::uint64_t) Awaited {
  enum class What : std::uint16_t {
    nothing,      // the worker computes
    param,        // a server's answer
    contribution, // another worker's contribution to a param that this worker's server owns
    norm,         // another server's norm, by which the param's next version is clipped
    sum,          // another server's sum over its part of the param
    exchange,     // an exchange of the param with other server groups
    beginning,    // the common first values
    step,         // its leader's permission for the step
    parts,        // the parts of the step from the workers that it leads
    rest,         // other workers' pause
    permission,   // to go on, from the leader that held it
    answers,      // answers of servers to settle or look
    steps,        // the last steps of other groups
    sums,         // sums of gradients on devices
    loan,         // what another worker of the group lends; `param` is the number of the transfer
    readers,      // others to have read what this worker has lent; the same
    input
  };
  static constexpr std::uint16_t nobody = 0xFFFF;

  What what = What::nothing;
  std::uint16_t seat = nobody; // the awaited worker; else several workers, or none
  std::uint32_t param = 0;     // number in the store

  bool is_of_param() const { return what >= What::param && what <= What::exchange; }
  bool is_of_transfer() const { return what == What::loan || what == What::readers; }
};

// Example: "param 'fc.weight' on worker 1, its server". `name`: of the param, or the transfer in words. Empty: the
// worker waits for nothing.
std::string in_words(const Awaited&, std::string_view name);

} // namespace dlhost::run
