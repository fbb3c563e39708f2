#include "trial.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include <rdma/fi_errno.h>

#include "wire.h"

namespace dlhost::plugins::fabric {
namespace {

constexpr std::size_t small = 64, large = 1 << 20;
constexpr int large_at_once = 4;
constexpr int ways_at_once = 16;
constexpr std::uint64_t last_round = 1; // a tag
constexpr Nanoseconds patience = 1'000'000'000;

std::byte filler(std::size_t i) { return static_cast<std::byte>(i * 31 + 7); }

// One end of a trial: sends and receives one message after the other.
class End {
 public:
  End(Host& host, Wire wire, Nanoseconds until, const std::atomic<bool>& over)
      : host_(host), until_(until), over_(over), wire_(std::move(wire)), out_(large), in_(large * large_at_once) {
    for (std::size_t i = 0; i < out_.size(); ++i) out_[i] = filler(i);
  }
  Result<std::string> name() const { return wire_.name(); }
  Status meet(const std::string& other) {
    DLHOST_ASSIGN(other_, wire_.insert(other));
    return {};
  }
  Status send(std::size_t size, int count = 1, std::uint64_t tag = 0) {
    for (int i = 0; i < count; ++i)
      DLHOST_TRY(taken([&] {
        return fi_tsend(wire_.endpoint(), out_.data(), size, nullptr, other_, tag,
                        &contexts_[static_cast<unsigned>(i)]);
      }));
    return done(count);
  }
  Status receive(std::size_t size, int count = 1) {
    for (int i = 0; i < count; ++i)
      DLHOST_TRY(taken([&] {
        return wire_.receive({in_.data() + static_cast<std::size_t>(i) * large, size}, 0,
                             &contexts_[static_cast<unsigned>(i)]);
      }));
    DLHOST_TRY(done(count));
    for (int i = 0; i < count; ++i) {
      std::byte* const got = in_.data() + static_cast<std::size_t>(i) * large;
      if (got[0] != filler(0) || got[size - 1] != filler(size - 1)) return Status::corrupt("another message arrived");
      got[0] = got[size - 1] = {};
    }
    return {};
  }
  std::uint64_t tag() const { return tag_; } // of the last message

 private:
  Status late() const {
    if (over_.load(std::memory_order_relaxed)) return Status::gone("the other end has given up");
    if (host_.clock().now() > until_) return Status::timeout("a message does not arrive");
    return {};
  }
  template <class Post> Status taken(Post&& post) {
    for (;;) {
      const ssize_t code = post();
      if (code == 0) return {};
      if (code != -FI_EAGAIN) return failed(code, "posting");
      DLHOST_TRY(read());
      DLHOST_TRY(late());
    }
  }
  Status done(int count) {
    while (ready_ < count) {
      for (int i = 0; i < 64 && ready_ < count; ++i) DLHOST_TRY(read());
      if (ready_ >= count) break;
      sched_yield(); // with fewer cores than tasks, the other end needs this core
      DLHOST_TRY(late());
    }
    ready_ -= count;
    return {};
  }
  Status read() {
    fi_cq_tagged_entry entries[large_at_once];
    const ssize_t count = fi_cq_read(wire_.queue(), entries, large_at_once);
    if (count > 0) ready_ += static_cast<int>(count);
    for (ssize_t i = 0; i < count; ++i)
      if ((entries[i].flags & FI_RECV) != 0) tag_ = entries[i].tag;
    if (count >= 0 || count == -FI_EAGAIN) return {};
    fi_cq_err_entry error{};
    if (count == -FI_EAVAIL) fi_cq_readerr(wire_.queue(), &error, 0);
    return failed(error.err != 0 ? error.err : count, "the wire broke");
  }

  Host& host_;
  Nanoseconds until_;
  const std::atomic<bool>& over_;
  Wire wire_;
  fi_addr_t other_ = FI_ADDR_UNSPEC;
  fi_context2 contexts_[large_at_once] = {};
  int ready_ = 0;
  std::uint64_t tag_ = 0;
  std::vector<std::byte> out_, in_;
};

// The far end's work: a tag of the near end marks the last round of each kind.
Status answer(End& far) {
  do {
    DLHOST_TRY(far.receive(small));
    DLHOST_TRY(far.send(small));
  } while (far.tag() != last_round);
  do {
    DLHOST_TRY(far.receive(large, large_at_once));
    DLHOST_TRY(far.send(small));
  } while (far.tag() != last_round);
  return {};
}

Result<Speed> ask(Host& host, End& near, Nanoseconds span) {
  Clock& clock = host.clock();
  std::vector<Nanoseconds> ways, rows;
  const Nanoseconds start = clock.now();
  for (bool last = false; !last;) {
    const Nanoseconds begin = clock.now();
    last = begin > start + span / 2 && ways.size() > 1; // the first round includes the meeting
    for (int i = 0; i < ways_at_once; ++i) {
      DLHOST_TRY(near.send(small, 1, last && i == ways_at_once - 1 ? last_round : 0));
      DLHOST_TRY(near.receive(small));
    }
    ways.push_back(clock.now() - begin);
  }
  for (bool last = false; !last;) {
    const Nanoseconds begin = clock.now();
    last = begin > start + span && rows.size() > 1;
    DLHOST_TRY(near.send(large, large_at_once, last ? last_round : 0));
    DLHOST_TRY(near.receive(small));
    rows.push_back(clock.now() - begin);
  }
  // The shortest time: other work of the machine only adds to it.
  const auto least = [](const std::vector<Nanoseconds>& of) {
    return static_cast<double>(*std::ranges::min_element(of)) * 1e-9;
  };
  return Speed{least(ways) / ways_at_once / 2, double{large} * large_at_once / least(rows)};
}

} // namespace

Result<Speed> try_out(Host& host, const std::string& provider, const std::string& at, Nanoseconds span) {
  DLHOST_ASSIGN(auto near_wire, Wire::open(provider, at));
  DLHOST_ASSIGN(auto far_wire, Wire::open(provider, at));
  const Nanoseconds until = host.clock().now() + span + patience;
  std::atomic<bool> given_up{false};
  End near(host, std::move(near_wire), until, given_up), far(host, std::move(far_wire), until, given_up);
  DLHOST_ASSIGN(const std::string near_name, near.name());
  DLHOST_ASSIGN(const std::string far_name, far.name());
  DLHOST_TRY(near.meet(far_name));
  DLHOST_TRY(far.meet(near_name));
  Status of_far;
  const auto task = host.tasks().start("trial", [&] {
    of_far = answer(far);
    if (!of_far.ok()) given_up.store(true);
  });
  auto speed = ask(host, near, span);
  if (!speed.ok()) given_up.store(true);
  task->join();
  if (!of_far.ok() && of_far.code() != Code::gone) return of_far;
  return speed;
}

} // namespace dlhost::plugins::fabric
