// Rendezvous: how processes find each other and agree on who is in. Embedded, PMIx, etcd.
//
// Membership changes make a new epoch; whoever still speaks of an older one is fenced. A session is in the epoch that
// its membership() last gave, and before that in the one in which it joined: what it puts and gets is of that epoch,
// and refused (Code::cancelled) once a newer one has begun. Calls block up to their limit at most, and may be made from
// several tasks at once. Of one who is out, by report_gone() or because the others heard nothing of it, all calls end
// with Code::gone.
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

// What all processes of a job know, and nobody else: by this they know one another.
using JobSecret = std::array<unsigned char, 32>;

// The rendezvous is to give one.
inline constexpr std::uint32_t any_rank = ~std::uint32_t{0};

struct Member {
  std::uint32_t rank = any_rank;
  std::string address; // of its endpoints, as its transports told; up to largest_value
  std::string host;
  std::uint32_t since = 0; // the epoch that began when it came; told, not asked
};

// One who is no longer in.
struct Departure {
  std::uint32_t epoch = 0; // that began by it
  Member who;
  std::string why;
};

struct Membership {
  std::uint32_t epoch = 0;
  std::vector<Member> members;       // by rank
  std::vector<Departure> departures; // after the epoch that was asked about, as far as they are remembered
};

// Who joins what.
struct Joining {
  Member self;
  std::uint32_t expected = 0;      // how many are to come; 0: as the plugin's options or the starter say
  std::optional<JobSecret> secret; // that a launcher handed over
};

class DLHOST_API Session {
 public:
  static constexpr std::size_t largest_value = 16 * 1024, largest_key = 512;

  virtual ~Session(); // leaves
  virtual std::uint32_t rank() const = 0;
  virtual std::uint32_t expected() const = 0; // how many are to come; 0: open
  virtual JobSecret secret() const = 0;
  virtual Result<Membership> membership(std::uint32_t newer_than_epoch, Nanoseconds limit) = 0;
  // A small store that all members see; a key is written once an epoch, and gone with it.
  virtual Status put(std::string_view key, std::string_view value) = 0;
  virtual Result<std::string> get(std::string_view key, Nanoseconds limit) = 0;
  // Tells that a member is gone; the others get a new epoch, and so does it, if it lives: it is out.
  virtual Status report_gone(std::uint32_t rank, std::string_view why) = 0;
  // Mutual exclusion among members that ends with its holder's life.
  virtual Result<bool> try_lead(std::string_view what) = 0;
  // The others are told why. Nothing else can be asked afterwards.
  virtual void leave(std::string_view why) = 0;
};

// Where members meet, held by one who need not be a member.
class DLHOST_API Place {
 public:
  virtual ~Place(); // ends it
  // What the members' option `at` is.
  virtual std::string address() const = 0;
  // All who were expected have come, whoever has left since.
  virtual bool complete() const = 0;
};

class DLHOST_API Rendezvous : public Plugin {
 public:
  static constexpr Kind kind = Kind::rendezvous;
  struct Capabilities {
    bool elastic = false;          // members may come and go
    bool survives_founder = false; // the process that started it may die
    bool hands_over_secret = false;
    bool founds = false; // found() makes a place; else members find what is there
  };
  virtual Capabilities capabilities() const = 0;
  // Was this process started by what this plugin speaks to?
  virtual bool detected(Host&) const = 0;
  // Returns when all who are expected are in. Waits for a rank that another has until it is out.
  virtual Result<std::unique_ptr<Session>> join(Host&, const Joining&, Nanoseconds limit) = 0;
  // For a launcher: of `who` it looks at what is expected, and at the secret.
  virtual Result<std::unique_ptr<Place>> found(Host&, const Joining& who);
};

} // namespace dlhost
