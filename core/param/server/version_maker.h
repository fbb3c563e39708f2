// Makes the versions of one slice: from the contributions that are due, and from late ones that were folded in, to the
// new value.
//
//   make_due()      these contributions make the next version; decodes them
//   use_sum()       ... and those of the other server groups, if groups sum their gradients
//   squared_norm()  ... for the norm of all gradients, if the updater clips by it
//   partials()      ... for the updater's sums over the whole param, if it needs them
//   write()         the new value
//   count_in()      the contributions are in the value
//
// Owns: the due contributions, their decoder, the late sum and the prepared updates. Borrows the slice's versions.
// Thread: the server's. Reads contributions and values in place. Does not allocate after make(), except for errors.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <dlhost/consistency.h>
#include <dlhost/updater.h>

#include "param/codec/coder.h"
#include "param/server/late_sum.h"
#include "param/server/slice_versions.h"
#include "param/store/factored_update.h"
#include "param/store/slice_update.h"
#include "plugin/activity.h"

namespace dlhost::param {

class VersionMaker {
 public:
  struct Setup {
    SliceVersions* versions = nullptr;
    Store* store = nullptr;
    const Masters* masters = nullptr;
    const Slices* slices = nullptr;
    ContributionKind kind = ContributionKind::dense; // of contributions that are neither encoded nor factors
    CodecUse codec;                                  // coding: null if contributions are not encoded
    bool folds = false;                              // the consistency handler folds
    bool one_sum = false; // use_sum() precedes each version: all groups' contributions are one gradient
    const Updater* updater = nullptr;
    const Updater::Rule* rule = nullptr; // of the updater; used by make() only
    const plugin::Actor* actor = nullptr;
    UpdateSettings settings;
    plugin::Activity* activity = nullptr;
  };
  static Result<std::unique_ptr<VersionMaker>> make(Setup);

  // Scratch memory, which several makers may share. work_in() comes before the first write().
  std::size_t room() const { return factored_ ? factored_->room() : 0; }
  void work_in(std::span<std::byte> room);

  // The contribution that an update names, in its sender's memory. Errors: corrupt if it has the wrong kind or place.
  Result<std::span<const std::byte>> find(const to_server::Update&, std::size_t contributor) const;

  // The held contributions and the one that has arrived, which may be null, make the next version.
  // Requires: none is due yet, and there is at least one.
  Status make_due(std::span<const Received> held, const Received* arrived, const UpdateVerdict&);
  bool is_due() const { return !due_.empty(); }
  // The number of the updater's sums, if they are over several slices. 0: it needs none, or the param is one slice.
  std::size_t sums_over_slices() const { return sums_over_slices_; }

  // Adds a contribution to the next version, which does not wait for it. Its sender may overwrite it afterwards.
  // Errors: internal if the handler may not fold.
  Status fold(const Received&, float weight);
  bool has_folded() const { return folded_ && !folded_->empty(); }
  float folded_weight() const { return folded_ ? folded_->weight() : 0; }
  // The folded contributions alone make the next value.
  void make_of_folded(float weight) { verdict_ = {.weight = weight}; }

  // The gradients whose weighted sum is the next version's. Valid until the next call of this object.
  std::span<const float* const> gradients();
  // Returns the factor on their sum, which becomes 1.
  float take_weight();
  // The sum of all server groups' contributions replaces those of this one.
  void use_sum(const float* sum) { sum_ = sum; }
  void forget_sum() { sum_ = nullptr; }
  // Multiplies the factor on the gradients' sum.
  void scale(float factor) { verdict_.weight *= factor; }

  // The sum of squares of the weighted sum. Requires: the settings clip by a norm.
  Result<double> squared_norm();
  // The updater's sums over this slice.
  Result<std::span<const double>> partials();
  // Computes the new value. `sums`: over the whole param, if they are over several slices.
  Status write(std::span<const double> sums);

  // Lists the due and the folded contributions, for the ledger.
  void list(std::vector<Ledger::Part>& to) const;
  // The due and the folded contributions are in the newest value: nothing is due any more.
  void count_in();

 private:
  explicit VersionMaker(const Setup& setup)
      : setup_(setup), versions_(*setup.versions), contributors_(setup.versions->contributors().all()) {}
  Status prepare_updates();
  ContributionKind kind() const;
  Status decode();
  SliceUpdate::Run run_to(std::size_t place);
  SliceUpdate& update_of(const SliceUpdate::Run& run) const { return *updates_[run.gradients.size() - 1]; }

  Setup setup_;
  SliceVersions& versions_;
  const Contributors& contributors_;
  std::vector<Received> due_;                         // all contributions of the next version
  UpdateVerdict verdict_;                             // on the due contributions
  std::unique_ptr<Decoder> decoder_;                  // null: contributions are not encoded
  const float* decoded_ = nullptr;                    // the sum of the due contributions, decoded
  const float* sum_ = nullptr;                        // the sum of all groups' contributions; null: there is none
  std::unique_ptr<LateSum> folded_;                   // null: the handler does not fold
  std::vector<std::unique_ptr<SliceUpdate>> updates_; // of one contribution, of two, ...
  std::unique_ptr<FactoredUpdate> factored_;          // replaces `updates_` if contributions are factors
  std::size_t sums_over_slices_ = 0;
  std::vector<const float*> gradients_; // of one update
};

} // namespace dlhost::param
