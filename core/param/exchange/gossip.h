// Gossip of slices along a graph of server groups without cycles. Each server sends each of its neighbours one merged
// part: what it has learned itself, and the changes from its other neighbours. No server waits for another.
//
// A part has all changes for that neighbour since the run began, and replaces the part before it. So a lost or a
// repeated part changes nothing. A server stores for each neighbour the last part from it (`heard`). Its value is
//
//   the start value + what it has learned itself + the sum of `heard` over its neighbours.
//
// A lost server group (its processes died) stays in the graph, as a node that learns nothing more. What it had learned
// itself outlives it (GroupSync::Setup::outlived_by). Its neighbours send one another the parts that they would have
// sent to it (gossip_mend.cpp). Adjacent lost groups count as one such node. A group that replaces a lost one begins
// with what that one had learned, and with parts from its neighbours.
//
// Alignment: each server sends each neighbour a last part. It sends it to a neighbour once it has the last parts of all
// its other neighbours. A last part has the number of the alignment, so that it can be sent again if the graph has
// changed.
//
// Thread: its shard's. Allocates when a group is lost or joins, and not in steps.
#pragma once

#include <array>
#include <limits>
#include <utility>

#include "param/exchange/gossip_graph.h"
#include "param/exchange/group_sync.h"

namespace dlhost::param {

class Gossip final : public GroupSync {
 public:
  // Rows of a slice: `came`, two of `own`, and for each neighbour `heard` and `told`.
  static constexpr std::size_t rows(std::size_t neighbours) { return 3 + 2 * neighbours; }

  explicit Gossip(Setup);
  void begin(const StartPoint&) override;
  bool is_on(std::size_t) const override { return false; }
  bool is_due(std::size_t which, Version) const override;
  Result<bool> start(std::size_t which, Version, const float* value) override;
  void amended(std::size_t) override {} // start() compares values, not versions
  Result<News> take(std::size_t which, std::uint32_t from, const ToNeighbour&) override;
  Status conclude(std::size_t which, Version now, const float* from, float* to) override;
  std::size_t heard(std::size_t which) const override { return pieces_[which].kept_at; }
  bool align(std::size_t which, Version now, std::uint64_t number) override;
  bool is_aligned() const override;
  std::uint64_t times_aligned() const override { return pieces_.empty() ? 0 : pieces_.front().asked; }

  Status lose(std::uint32_t rank) override;
  Status join(std::uint32_t rank, std::span<std::byte> memory, std::uint32_t order) override;
  bool has_news(std::size_t which) const override { return pieces_[which].has_come; }
  std::vector<Early> early() override { return std::exchange(early_, {}); }
  bool is_joining() const override;
  Status recall() override;

 private:
  static constexpr std::uint64_t every_last = std::numeric_limits<std::uint64_t>::max();
  // A server that sends parts over a link: the neighbour, or, while it is lost, a live server behind it.
  struct Source {
    std::uint32_t rank = 0;
    bool heard = false;        // a part has arrived since the link changed last
    std::uint64_t last = 0;    // the number of its newest last part
    std::vector<float> values; // its newest part, if the neighbour is lost
  };
  // The connection to a neighbour of the graph.
  struct Link {
    std::uint32_t rank = 0;
    std::span<float> heard, told;
    std::vector<Source> sources;        // empty: the neighbour is lost, and no live server is behind it
    std::vector<std::uint32_t> reading; // servers that have not read the newest part from here
    // True if the neighbour is lost. Then `outlived` is the sum of what the lost groups behind the link had learned,
    // and `lost` has their versions.
    bool is_mended = false;
    std::vector<float> outlived;
    std::vector<Ledger::Outlived> lost;
    std::vector<Ledger::Heard> of;         // the parts that are in `heard`, by source
    std::vector<Ledger::Outlived> of_lost; // the versions of lost groups that are in `heard`
    bool owed = false;                     // there are changes to send
    std::uint64_t told_last = 0;           // the number of the newest last part sent

    std::uint64_t heard_last() const;
    bool is_whole() const; // each source has sent a part
  };
  // The changes that a lost group had learned itself.
  struct Outlived {
    Version version = 0;
    std::vector<float> learned; // empty: it is not known yet
  };
  struct Piece {
    const Slice* slice = nullptr;
    std::unique_ptr<SliceUpdate> shift;
    std::span<float> common; // the start value with all changes that the others know, or will know by parts under way
    std::span<float> came;   // changes of others that are not in the value yet
    bool has_come = false;
    std::span<float> begun;               // the start value
    std::array<std::span<float>, 2> own;  // what was learned here, by turns: one is whole whenever this server dies
    std::array<std::span<float>, 2> kept; // all changes of others, by turns; empty: versions do not outlive this server
    std::size_t own_at = 0, kept_at = 0;  // index of the newest in `own` and `kept`
    Version at = 0;                       // the version at the last start()
    std::uint64_t asked = 0, last = 0;    // the numbers of the last alignment asked for, and of the last part to send
    std::vector<Link> links;
    std::vector<std::uint64_t> told, heard; // per group: the number of the newest part sent to it, and from it
    std::vector<Outlived> outlived;         // per group: set if it was ever lost
    std::vector<std::uint32_t> recalled;    // while joining: groups whose learned changes are still to be asked for
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
  Result<News> take_part(Piece&, const to_neighbour::Part&, std::uint32_t from);
  Status take_taken(Piece&, const to_neighbour::Taken&, std::uint32_t from);

  // For groups that are lost or join.
  void mend(Piece&);
  void mend(Piece&, Link&);
  void begin_to_join(Piece&);
  Status recall_next(Piece&);
  std::uint32_t recalls_from() const;
  Status answer_recall(Piece&, const to_neighbour::Recall&, std::uint32_t from);
  Status take_recalled(Piece&, const to_neighbour::Recalled&, std::uint32_t from);
  Status joined(Piece&);
  // The number from which parts to and from a group that has joined are counted.
  static std::uint64_t first_part(std::uint32_t order) { return std::uint64_t{order} << 32U; }
  std::size_t number_of(const Piece& piece) const { return static_cast<std::size_t>(&piece - pieces_.data()); }

  GossipGraph graph_;
  std::uint32_t joins_ = 0; // the order of the newest admission of a group
  std::vector<Piece> pieces_;
  std::vector<Early> early_;
  std::vector<Ledger::Heard> heard_;       // scratch memory for a line of the ledger
  std::vector<Ledger::Outlived> outlived_; // the same
};

} // namespace dlhost::param
