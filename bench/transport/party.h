// Another process of this program, with a channel to it: a side of a measurement.
#pragma once

#include <sys/types.h>

#include <functional>
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

// What such a process does; it dies with whoever started it. What goes wrong is told as `program`'s while the channel
// is still open: who hears its end ends this one.
int be_party(const std::string& program, int from, int to, const std::function<void(Channel&)>& work);

} // namespace dlhost::bench
