// Gossip of a slice along a graph without loops: each server tells each of its neighbours what that one lacks, merged:
// what it has learned itself, and what came from its other neighbours. Nobody waits for anybody, and what one learned
// comes to each other one once.
//
// To be aligned, each tells its neighbours its last word: who has heard that of all but one neighbour tells it to that
// one, who has heard all, to the others.
#pragma once

#include <array>

#include "param/exchange/group_sync.h"

namespace dlhost::param {

class Gossip final : public GroupSync {
 public:
  // Of a slice: what came, and for each neighbour what it lacks and what was sent.
  static constexpr std::size_t rows(std::size_t neighbours) { return 1 + 2 * neighbours; }

  explicit Gossip(Setup);
  void begin(const StartPoint&) override;
  bool is_on(std::size_t) const override { return false; }
  bool is_due(std::size_t which, Version) const override;
  Result<bool> start(std::size_t which, Version, const float* value) override;
  void amended(std::size_t) override {} // it looks at the value itself
  Result<News> take(std::size_t which, const Message&) override;
  Status conclude(std::size_t which, Version now, const float* from, float* to) override;
  std::size_t heard(std::size_t which) const override { return pieces_[which].heard; }
  bool align(std::size_t which, Version now) override;
  bool is_aligned() const override;

 private:
  struct Link {
    std::uint32_t rank = 0;
    std::span<float> lacks, sent;
    bool owed = false, under_way = false;
    std::uint64_t told = 0, heard = 0;          // parts
    bool told_last = false, heard_last = false; // words
  };
  struct Piece {
    const Slice* slice = nullptr;
    std::unique_ptr<SliceUpdate> shift;
    std::span<float> common; // the value as all others have heard of it, or will
    std::span<float> came;   // and is not in the value yet
    bool has_come = false;
    std::span<float> begun;               // the value then; empty: nothing is to outlive this server
    std::array<std::span<float>, 2> kept; // all that came since, by turns
    std::size_t heard = 0;                // which of them is in the value
    Version at = 0;                       // when it was told last
    bool aligning = false, begins_to_align = false;
    std::vector<Link> links;

    bool is_quiet() const;
  };

  Status add(const Slice&) override;
  Status tell(Piece&);
  Status note_told(const Piece&, const Link&);
  Status note_heard(const Piece&, Version now);
  static bool may_say_last(const Piece&, const Link&);

  std::vector<std::uint32_t> ranks_; // of its neighbours in the graph
  std::vector<Piece> pieces_;
  std::vector<Ledger::Heard> heard_; // of one line of the ledger
};

} // namespace dlhost::param
