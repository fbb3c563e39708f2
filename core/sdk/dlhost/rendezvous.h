// Rendezvous: how processes find each other and agree on who is in. Embedded, PMIx, etcd.
//
// Membership changes make a new epoch; whoever still speaks of an older one is fenced. Calls may block up to their
// limit and are made from one task.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <dlhost/host.h>
#include <dlhost/kind.h>
#include <dlhost/status.h>

namespace dlhost {

struct Member {
  std::uint32_t rank = 0;
  std::string address; // of its endpoints, as its transports told
  std::string host;
};

struct Membership {
  std::uint32_t epoch = 0;
  std::vector<Member> members; // by rank
};

class DLHOST_API Session {
 public:
  virtual ~Session(); // leaves
  virtual std::uint32_t rank() const = 0;
  virtual std::uint32_t expected() const = 0; // how many are to come; 0: open
  virtual Result<Membership> membership(std::uint32_t newer_than_epoch, Nanoseconds limit) = 0;
  // A small store that all members see; a key is written once an epoch.
  virtual Status put(std::string_view key, std::string_view value) = 0;
  virtual Result<std::string> get(std::string_view key, Nanoseconds limit) = 0;
  // Tells that a member is gone; the others get a new epoch.
  virtual Status report_gone(std::uint32_t rank) = 0;
  // Mutual exclusion among members that ends with its holder's life.
  virtual Result<bool> try_lead(std::string_view what) = 0;
};

class DLHOST_API Rendezvous : public Plugin {
 public:
  static constexpr Kind kind = Kind::rendezvous;
  struct Capabilities {
    bool elastic = false;          // members may come and go
    bool survives_founder = false; // the process that started it may die
    bool hands_over_secret = false;
  };
  virtual Capabilities capabilities() const = 0;
  // Was this process started by what this plugin speaks to?
  virtual bool detected(Host&) const = 0;
  virtual Result<std::unique_ptr<Session>> join(Host&, const Member& self, Nanoseconds limit) = 0;
};

} // namespace dlhost
