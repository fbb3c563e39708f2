// Carries what one endpoint sends: a task of its process, so that what has not arrived when that process is killed
// never does. Each errand is done after a drawn while, those to one peer in their order, but for those that are
// late on purpose.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <dlhost/random.h>

#include "hub.h"

namespace dlhost::plugins::sim {

struct Cut {
  std::string one, other; // names of endpoints
  Nanoseconds after = 0;  // that the one has known the other
};

// From one moment of the clock to another: who meets behind it meets as if nothing had been.
struct Outage {
  std::string one, other;
  Nanoseconds from = 0, to = 0;
};

// How links are.
struct Weather {
  std::uint64_t seed = 0;
  Nanoseconds least = 0, most = 0; // that a message takes
  Nanoseconds notice = 0;          // until the end of a peer is seen
  double lost = 0, doubled = 0;    // which share of messages, against what a transport promises
  double reordered = 0;            // and which comes `most` later than it would, before it those sent meanwhile
  std::vector<Cut> cuts;
  std::vector<Outage> outages;
};

// The way from one endpoint to another.
struct Link {
  std::shared_ptr<Box> to;
  PeerId peer = 0;
  std::optional<Nanoseconds> cut; // when
  bool is_cut(Nanoseconds now) const { return cut && now >= *cut; }
};

class Courier {
 public:
  // What is done, and what its owner is told then.
  struct Errand {
    std::function<Completion()> act;
    bool needs_owner = false; // its memory
    bool late = false;        // those behind it do not wait for it
  };

  Courier(Host&, const Weather&, std::shared_ptr<Box> own);
  // Does what was asked for before and does not need the owner, unless their process was killed.
  ~Courier();

  // False: too many to that peer wait.
  bool take(std::shared_ptr<const Link>, Errand);
  // What becomes of the next message.
  struct Fate {
    int times = 1; // that it arrives
    bool late = false;
  };
  Fate fate();
  // Forgets what is for that peer.
  void forget(PeerId);

 private:
  struct Waiting {
    std::shared_ptr<const Link> link;
    Errand errand;
  };
  void work();
  std::vector<Waiting> due(Nanoseconds now);

  Host& host_;
  const Weather& weather_;
  const std::shared_ptr<Box> own_;
  std::mutex guard_; // of what follows
  Random random_;
  Random fates_; // other ones for who is opened once more: else the same message would be lost each time
  std::multimap<Nanoseconds, Waiting> waiting_; // by when they are due
  std::map<PeerId, Nanoseconds> last_;          // due, to each peer
  bool ending_ = false;
  std::unique_ptr<Waiter> changed_;
  std::unique_ptr<Task> task_; // the last, so that it is joined while all the rest is there
};

} // namespace dlhost::plugins::sim
