// Another process of this program, with a channel to it: one side of a measurement.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "channel.h"

namespace dlhost::bench {

class Party {
 public:
  // Passes it these words, and `--from` and `--to`.
  Party(const std::string& program, std::vector<std::string> words);
  Party(Party&&) noexcept;
  Party& operator=(Party&&) = delete;
  ~Party(); // ends the process

  Channel& channel() { return channel_; }
  // Waits until it ends by itself; throws if it failed.
  void join();

 private:
  struct Pipes {
    int here[2], there[2]; // the ends to read from and write to, for each side
  };
  static Pipes pipes();
  Party(const std::string& program, std::vector<std::string> words, Pipes);

  pid_t process_ = 0;
  Channel channel_;
};

// The main function of such a process; it dies with its parent. Prints an error as `program`'s while the channel is
// still open, because the parent ends the process when the channel closes.
int be_party(const std::string& program, int from, int to, const std::function<void(Channel&)>& work);

} // namespace dlhost::bench
