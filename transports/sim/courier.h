// Delivers what one endpoint sends, as a task of its process: undelivered messages are lost when that process is
// killed. Each errand takes a random time. Errands to one peer keep their order, except intentionally late ones.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <dlhost/random.h>

#include "hub.h"

namespace dlhost::plugins::sim {

struct Cut {
  std::string one, other; // names of endpoints
  Nanoseconds after = 0;  // after their first meeting
};

// A failure between two moments of the clock; later meetings work normally.
struct Outage {
  std::string one, other;
  Nanoseconds from = 0, to = 0;
};

// The simulated quality of links.
struct Weather {
  std::uint64_t seed = 0;
  Nanoseconds least = 0, most = 0; // the time of a message
  Nanoseconds notice = 0;          // until a peer's end is noticed
  double lost = 0, doubled = 0;    // fraction of messages; violates a transport's promises
  double reordered = 0;            // fraction delivered `most` later, after later messages
  std::vector<Cut> cuts;
  std::vector<Outage> outages;
};

// The connection from one endpoint to another.
struct Link {
  std::shared_ptr<Box> to;
  PeerId peer = 0;
  std::optional<Nanoseconds> cut; // the time of the cut
  bool is_cut(Nanoseconds now) const { return cut && now >= *cut; }
};

class Courier {
 public:
  // An action, and its completion for the owner.
  struct Errand {
    std::function<Completion()> act;
    bool needs_owner = false; // uses the owner's memory
    bool late = false;        // later errands do not wait for it
  };

  Courier(Host&, const Weather&, std::shared_ptr<Box> own);
  // Does earlier errands that do not need the owner, unless the process was killed.
  ~Courier();

  // False: too many errands to that peer wait.
  bool take(std::shared_ptr<const Link>, Errand);
  // The fate of the next message.
  struct Fate {
    int times = 1; // number of deliveries
    bool late = false;
  };
  Fate fate();
  // Drops the errands to that peer.
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
  std::mutex guard_; // guards the members below
  Random random_;
  Random fates_; // differs after reopening: else the same message would be lost each time
  std::multimap<Nanoseconds, Waiting> waiting_; // by due time
  std::map<PeerId, Nanoseconds> last_;          // last due time for each peer
  bool ending_ = false;
  std::unique_ptr<Waiter> changed_;
  std::unique_ptr<Task> task_; // last member, so that it is joined before the others are destroyed
};

} // namespace dlhost::plugins::sim
