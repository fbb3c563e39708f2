// Another process of this program, with a channel to it: a side of a measurement.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "channel.h"

namespace dlhost::bench {

class Party {
 public:
  // It gets these words, and `--from` and `--to`.
  Party(const std::string& program, std::vector<std::string> words);
  Party(Party&&) noexcept;
  Party& operator=(Party&&) = delete;
  ~Party(); // ends it

  Channel& channel() { return channel_; }
  // Until it ends by itself; throws where it failed.
  void join();

 private:
  struct Pipes {
    int here[2], there[2]; // from and to, of either side
  };
  static Pipes pipes();
  Party(const std::string& program, std::vector<std::string> words, Pipes);

  pid_t process_ = 0;
  Channel channel_;
};

} // namespace dlhost::bench
