// The steps in which a worker lends tensors to others of its group and borrows theirs. A source's features are lent
// when they are made, and borrowed before their first reader in the order of the record, on every worker: so each wait
// is for earlier steps of others, and no workers wait in a circle. Gradients go when their source's own is next.
//
// Owns: the loans, the borrowings and their ops. Thread: one.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "program/box_exchange.h"
#include "program/build/bridges.h"
#include "program/build/feature_gradients.h"
#include "program/build/lent_places.h"
#include "program/loan.h"

namespace dlhost::program {

class Transfers {
 public:
  // All outlive it.
  Transfers(const BuildRequest&, const Bridges&, Slots&, StepList&);

  // Errors: the features of a frame are made twice, and the first may still be read.
  Status lend_features(std::size_t node, int frame);
  // Borrows what a node's inputs want and no step before has borrowed in this frame. Returns the slots of frame 0.
  Result<std::vector<SlotId>> borrow_features(std::size_t node, int frame);
  // The gradients of a node's outputs go from the workers of its readers to its own. `reached`: by output, whether a
  // reader contributed. Once in a frame.
  Status pass_gradients(std::size_t node, int frame, const std::vector<bool>& reached, FeatureGradients&);

  std::vector<Loan> take_loans() { return std::move(loans_); }
  std::vector<Borrowing> take_borrowings() { return std::move(borrowings_); }
  std::vector<std::unique_ptr<Op>> take_ops() { return std::move(ops_); }
  LentMemory lent_memory() const;

 private:
  // The forms and moves of one kind of transfer.
  struct Way {
    const net::Form& from;
    const net::Form& to;
    const std::vector<net::Move>& moves;
    bool gathers;
  };
  Way way(std::size_t connector, TransferKind) const;
  Status lend(std::size_t connector, TransferKind, int frame, SlotId);
  Status borrow(std::size_t connector, TransferKind, int frame, SlotId own, SlotId to);
  // The same, then the boxes that are finished go to all that want them.
  Status borrow_all(std::size_t connector, TransferKind, TransferKind gathered, int frame, SlotId own, SlotId to);
  // A slot with the content of this one that lies at a place where others read it.
  Result<SlotId> lent(SlotId, std::size_t place);
  Result<const std::vector<Borrowing::Box>*> boxes(std::size_t connector, TransferKind);

  const BuildRequest& request_;
  const Bridges& bridges_;
  Slots& slots_;
  StepList& steps_;
  const LentPlaces places_;
  std::vector<Loan> loans_;
  std::vector<Borrowing> borrowings_;
  std::vector<std::unique_ptr<Op>> ops_;
  std::map<std::pair<std::size_t, TransferKind>, std::vector<Borrowing::Box>> boxes_; // without places
  std::map<std::pair<SlotId, std::size_t>, SlotId> copies_;                           // by their originals and places
  std::set<std::pair<std::size_t, int>> lent_, passed_;                               // nodes, in a frame
  std::set<std::pair<std::size_t, int>> borrowed_;                                    // connectors, in a frame
};

} // namespace dlhost::program
