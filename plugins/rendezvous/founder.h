// The founder of an embedded rendezvous: it keeps the roll behind one door. Its task serves callers that have proved to
// know the job's secret, one link for each member, and announces each new epoch. A link that ends, or is silent for too
// long, is its member's end.
#pragma once

#include <atomic>
#include <list>
#include <memory>

#include <dlhost/rendezvous.h>

#include "meeting/door.h"
#include "meeting/frames.h"
#include "roll.h"
#include "words.h"

namespace dlhost::plugins::rendezvous {

inline constexpr std::string_view founder_name = "founder", member_name = "member";
// Each side sends so many times within the silence that counts as its end.
inline constexpr int beats_in_silence = 5;

class Founder final : public Place {
 public:
  static Result<std::unique_ptr<Founder>> open(Host&, const meeting::Where&, const meeting::Terms&,
                                               std::uint32_t expected);
  ~Founder() override;

  std::string address() const override { return address_; }
  bool complete() const override { return complete_; }
  std::uint64_t strangers() const { return strangers_; }

 private:
  struct Guest {
    Guest(std::unique_ptr<meeting::Link> met, Nanoseconds now)
        : link(std::move(met)), frames(meeting::Frames::of_callee(*link)), heard(now), said(now) {}
    std::unique_ptr<meeting::Link> link;
    meeting::Frames frames;
    std::optional<std::uint32_t> rank; // none until it has joined
    Nanoseconds heard, said;
    std::uint32_t told = 0; // the epoch of the last membership sent
    bool told_complete = false;
    std::vector<Words> waiting; // gets of keys that do not exist yet
    bool leaves = false;        // after the reason is sent
  };

  Founder(Host& host, const meeting::Terms& terms, meeting::Door door, std::string address, std::uint32_t expected);
  void run();
  void sleep();
  void admit(Nanoseconds now);
  Status hear(Guest&, Nanoseconds now);
  Status take(Guest&, const Words&);
  void join(Guest&, const Words&);
  void answer(Guest&, std::uint32_t number, const Status&, std::string value = {});
  void answer_waiting(Guest&);
  void say(Guest&, const Words&);
  void tell_membership(Guest&);
  void dismiss(Guest&, std::string_view why);
  void end(Guest&, const Status& why);

  Host& host_;
  const meeting::Terms terms_;
  meeting::Door door_;
  meeting::Socket waker_;
  const std::string address_;
  Roll roll_;
  std::list<Guest> guests_;
  Nanoseconds told_progress_ = 0;
  std::atomic<std::uint64_t> strangers_{0};
  std::atomic<bool> complete_{false}, ends_{false};
  std::unique_ptr<Task> task_; // last: uses all members above
};

} // namespace dlhost::plugins::rendezvous
