// Rendezvous: how processes find each other and agree on the members. Embedded, PMIx, etcd.
//
// Each change of the members starts a new epoch; processes of older epochs are fenced. A session is in the epoch that
// its last membership() returned, and before that in the one in which it joined. Its put and get belong to that epoch
// and are refused (Code::cancelled) after a newer one has started. Calls block for their limit at most. Thread: any,
// several at once. After a member is out (by report_gone(), or because the others heard nothing of it), all its calls
// end with Code::gone.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dlhost/host.h>
#include <dlhost/kind.h>
#include <dlhost/status.h>

namespace dlhost {

// The secret of a job's processes, by which they authenticate each other.
using JobSecret = std::array<unsigned char, 32>;

// The rendezvous chooses the rank.
inline constexpr std::uint32_t any_rank = ~std::uint32_t{0};

struct Member {
  std::uint32_t rank = any_rank;
  std::string address; // of its endpoints, from its transports; at most largest_value bytes
  std::string host;
  std::uint32_t since = 0; // the epoch that its join started; set by the rendezvous
};

// A former member.
struct Departure {
  std::uint32_t epoch = 0; // the epoch that its departure started
  Member who;
  std::string why;
};

struct Membership {
  std::uint32_t epoch = 0;
  std::vector<Member> members;       // by rank
  std::vector<Departure> departures; // after the epoch that was asked about, as far as remembered
};

// The arguments of join.
struct Joining {
  Member self;
  std::uint32_t expected = 0;      // number of expected members; 0: from the plugin's options or the starter
  std::optional<JobSecret> secret; // from a launcher
};

class DLHOST_API Session {
 public:
  static constexpr std::size_t largest_value = 16 * 1024, largest_key = 512;

  virtual ~Session(); // leaves
  virtual std::uint32_t rank() const = 0;
  virtual std::uint32_t expected() const = 0; // number of expected members; 0: open
  virtual JobSecret secret() const = 0;
  virtual Result<Membership> membership(std::uint32_t newer_than_epoch, Nanoseconds limit) = 0;
  // A small store that all members see; a key is written once in an epoch and disappears with it.
  virtual Status put(std::string_view key, std::string_view value) = 0;
  virtual Result<std::string> get(std::string_view key, Nanoseconds limit) = 0;
  // Reports that a member is gone: the others get a new epoch. If the member lives, it is out.
  virtual Status report_gone(std::uint32_t rank, std::string_view why) = 0;
  // Mutual exclusion among members; ends with its holder's life.
  virtual Result<bool> try_lead(std::string_view what) = 0;
  // Leaves; the others get the reason. No calls are allowed afterwards.
  virtual void leave(std::string_view why) = 0;
};

// The meeting place of members; its holder need not be a member.
class DLHOST_API Place {
 public:
  virtual ~Place(); // ends it
  // The value of the members' option `at`.
  virtual std::string address() const = 0;
  // Whether all expected members have joined, even if some have left since.
  virtual bool complete() const = 0;
};

class DLHOST_API Rendezvous : public Plugin {
 public:
  static constexpr Kind kind = Kind::rendezvous;
  struct Capabilities {
    bool elastic = false;          // members may come and go
    bool survives_founder = false; // the process that founded it may die
    bool hands_over_secret = false;
    bool founds = false; // found() makes a place; else members find an existing one
  };
  virtual Capabilities capabilities() const = 0;
  // Whether this process was started by the plugin's launcher.
  virtual bool detected(Host&) const = 0;
  // Returns when all expected members have joined. If another member has the rank, waits until it is out.
  virtual Result<std::unique_ptr<Session>> join(Host&, const Joining&, Nanoseconds limit) = 0;
  // For a launcher: uses only `expected` and `secret` of `who`.
  virtual Result<std::unique_ptr<Place>> found(Host&, const Joining& who);
};

} // namespace dlhost
