// Gossip of a slice along a graph without loops: each server tells each of its neighbours what that one lacks, merged:
// what it has learned itself, and what came from its other neighbours. No server waits for another.
//
// A part holds all that its sender has to tell that neighbour since the run began, and takes the place of the part
// before it: a part that is lost, or told again, changes nothing. So a server keeps for each neighbour what that one
// told last (`heard`), and its value is
//
//   what all began with + what it learned itself + the sum of `heard` over its neighbours.
//
// A server group that is lost (its processes died) is in the graph all the same, as a point that learns nothing: what
// it had learned itself outlives it (GroupSync::Setup::outlived_by), and its neighbours tell one another what they
// would have told it (gossip_mend.cpp). Several lost groups beside one another are one such point. A group that takes
// the place of a lost one begins with what that had learned, and with what its neighbours tell it.
//
// To be aligned, each tells its neighbours its last word: a server that has heard it of all but one neighbour tells it
// to that one; one that has heard all, to the others. Last words are numbered, so that they can be told again where the
// graph has changed meanwhile.
//
// Thread: its shard's. Allocates when a group is lost or joins, and in no step.
#pragma once

#include <array>
#include <limits>
#include <utility>

#include "param/exchange/gossip_graph.h"
#include "param/exchange/group_sync.h"

namespace dlhost::param {

class Gossip final : public GroupSync {
 public:
  // Of a slice: what came; what was learned here, by turns; and for each neighbour what it told and what it was told.
  static constexpr std::size_t rows(std::size_t neighbours) { return 3 + 2 * neighbours; }

  explicit Gossip(Setup);
  void begin(const StartPoint&) override;
  bool is_on(std::size_t) const override { return false; }
  bool is_due(std::size_t which, Version) const override;
  Result<bool> start(std::size_t which, Version, const float* value) override;
  void amended(std::size_t) override {} // it looks at the value itself
  Result<News> take(std::size_t which, const Message&) override;
  Status conclude(std::size_t which, Version now, const float* from, float* to) override;
  std::size_t heard(std::size_t which) const override { return pieces_[which].kept_at; }
  bool align(std::size_t which, Version now) override;
  bool is_aligned() const override;
  std::uint64_t times_aligned() const override { return pieces_.empty() ? 0 : pieces_.front().asked; }

  Status lose(std::uint32_t rank) override;
  Status join(std::uint32_t rank, std::span<std::byte> memory, std::uint32_t number) override;
  bool has_news(std::size_t which) const override { return pieces_[which].has_come; }
  std::vector<Message> early() override { return std::exchange(early_, {}); }
  bool is_joining() const override;
  Status recall() override;

 private:
  static constexpr std::uint64_t every_last = std::numeric_limits<std::uint64_t>::max();
  // A server that tells over a link: the neighbour itself or, while that is lost, one behind it.
  struct Source {
    std::uint32_t rank = 0;
    bool heard = false;        // since the link is as it is
    std::uint64_t last = 0;    // the last word that it said
    std::vector<float> values; // where the neighbour is lost: what it told last
  };
  struct Link {
    std::uint32_t rank = 0;
    std::span<float> heard, told;
    std::vector<Source> sources;        // none: the neighbour is lost, and no other server is behind it
    std::vector<std::uint32_t> reading; // those that have not read what was told last
    // Where the neighbour is lost: what the lost groups behind it had learned themselves, and until which version.
    bool is_mended = false;
    std::vector<float> outlived;
    std::vector<Ledger::Outlived> lost;
    std::vector<Ledger::Heard> of;         // what `heard` holds: of each source the part
    std::vector<Ledger::Outlived> of_lost; // and of each lost group the version
    bool owed = false;
    std::uint64_t told_last = 0; // word

    std::uint64_t heard_last() const;
    bool is_whole() const; // all sources have told
  };
  // What a lost group had learned itself.
  struct Outlived {
    Version version = 0;
    std::vector<float> learned; // empty: nothing is known of it yet
  };
  struct Piece {
    const Slice* slice = nullptr;
    std::unique_ptr<SliceUpdate> shift;
    std::span<float> common; // the value as all others have heard of it, or will
    std::span<float> came;   // and is not in the value yet
    bool has_come = false;
    std::span<float> begun;               // the value that all began with
    std::array<std::span<float>, 2> own;  // what was learned here, by turns: one is whole whenever this server dies
    std::array<std::span<float>, 2> kept; // all that came since, by turns; empty: versions do not outlive this server
    std::size_t own_at = 0, kept_at = 0;  // which of them is the newest
    Version at = 0;                       // when it was told last
    std::uint64_t asked = 0, last = 0;    // how often it was to be aligned; the last word that it says
    std::vector<Link> links;
    std::vector<std::uint64_t> told, heard; // parts, to and from each group
    std::vector<Outlived> outlived;         // of each group that was lost once
    std::vector<std::uint32_t> recalled;    // while it joins: groups of which that is asked, one after another
    bool joining = false;

    bool is_quiet() const;
  };

  Status add(const Slice&) override;
  Status publish(const Piece&);
  Status tell(Piece&);
  Status tell(Piece&, Link&);
  Status note_told(const Piece&, const Link&, std::uint32_t to);
  Status note_heard(const Piece&, Version now);
  void note(const Link&);
  static bool may_say_last(const Piece&, const Link&);
  static void replace(Piece&, Link&, std::span<const float> values);
  static void sum_up(Piece&, Link&);
  Result<News> take_part(Piece&, const Message&, std::uint32_t from);
  Status take_taken(Piece&, const Message&, std::uint32_t from);

  // Of lost groups, and those that join.
  void mend(Piece&);
  void mend(Piece&, Link&);
  void begin_to_join(Piece&);
  Status recall_next(Piece&);
  Status answer_recall(Piece&, const Message&, std::uint32_t from);
  Status take_recalled(Piece&, const Message&, std::uint32_t from);
  Status joined(Piece&);
  // Parts between two groups, one of which has joined, are counted from there on.
  static std::uint64_t first_part(std::uint32_t joining) { return std::uint64_t{joining} << 32U; }
  std::size_t number_of(const Piece& piece) const { return static_cast<std::size_t>(&piece - pieces_.data()); }

  GossipGraph graph_;
  std::uint32_t joins_ = 0; // groups that have joined so far
  std::vector<Piece> pieces_;
  std::vector<Message> early_;
  std::vector<Ledger::Heard> heard_;       // of one line of the ledger
  std::vector<Ledger::Outlived> outlived_; // the same
};

} // namespace dlhost::param
