// Maps each phase's samples to a file and a row; shared by the sources that read files. A phase has its own file (or
// files), or every n-th row of the training file, or no samples: an evaluating job needs no training file. Pure
// arithmetic: keeps no list of rows.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <dlhost/frame.h>
#include <dlhost/schema.h>
#include <dlhost/status.h>

namespace dlhost::input {

// Base of a source's Options. Files: std::string, or std::vector<std::string> for sources with several files in a
// phase.
template <class Files> struct PhaseOptions {
  Files train, validate, test;
  std::int64_t test_every = 0, validate_every = 0;
};

// Adds those options to a source's schema; `what` describes the files.
template <class Options> void add_phase_options(SchemaOf<Options>& schema, const std::string& what) {
  using Files = decltype(Options::train);
  const auto files = [](Files Options::*member) { return member; };
  const auto number = [](std::int64_t Options::*member) { return member; };
  schema.option("train", files(&Options::train), what + " to train on, relative to the job file")
      .option("validate", files(&Options::validate), what + " to validate on")
      .option("test", files(&Options::test), what + " to test on")
      .option("test_every", number(&Options::test_every),
              "without test files: every n-th training sample tests instead; 0: none", at_least(0))
      .option("validate_every", number(&Options::validate_every),
              "without validation files: every n-th of the other training samples validates instead; 0: none",
              at_least(0));
}

// Adds the option with which `dlhost predict --data` names samples without labels: they become the test's samples, and
// there are no others. Their label is 0, so that the net is the test's.
template <class Options, class Files>
void add_unlabelled(SchemaOf<Options>& schema, Files Options::*member, const std::string& what) {
  schema.option("unlabelled", member, what + " without labels, in place of all others; dlhost predict --data sets it");
}

// Divides the rows of one set among the phases.
class Deal {
 public:
  Deal() = default;
  Deal(std::int64_t rows, std::int64_t test_every, std::int64_t validate_every)
      : test_every_(test_every), validate_every_(validate_every) {
    const auto part = [](std::int64_t of, std::int64_t every) { return every > 0 ? of / every : 0; };
    const std::int64_t tests = part(rows, test_every), validates = part(rows - tests, validate_every);
    counts_ = {rows - tests - validates, validates, tests};
  }

  std::int64_t count(Phase phase) const { return counts_[static_cast<std::size_t>(phase)]; }
  std::int64_t row(Phase phase, std::int64_t index) const {
    switch (phase) {
    case Phase::test: return taken(index, test_every_);
    case Phase::validate: return left(taken(index, validate_every_), test_every_);
    case Phase::train: break;
    }
    return left(left(index, validate_every_), test_every_);
  }

 private:
  // The index-th row among every n-th, and the index-th among the others.
  static std::int64_t taken(std::int64_t index, std::int64_t n) { return index * n + n - 1; }
  static std::int64_t left(std::int64_t index, std::int64_t n) { return n > 0 ? index + index / (n - 1) : index; }

  std::int64_t test_every_ = 0, validate_every_ = 0;
  std::array<std::int64_t, 3> counts_{};
};

// The sets of samples that a source has opened. Set has count().
template <class Set> class Phases {
 public:
  // Makes `set` the test's samples; there are no others.
  void open_alone(Set set) { first_ = &sets_[static_cast<std::size_t>(Phase::test)].emplace(std::move(set)); }

  // load(files, first): Result<Set>; `first` is the first loaded set (training, if there is one); null while loading
  // that one.
  template <class Files, class Load> Status open(const PhaseOptions<Files>& options, Load&& load) {
    DLHOST_TRY(check("test", options.test.empty(), options.test_every));
    DLHOST_TRY(check("validate", options.validate.empty(), options.validate_every));
    if (options.train.empty() && (options.test_every > 0 || options.validate_every > 0))
      return Status::invalid("test_every and validate_every take samples of the training file: give it as train");
    if (!options.train.empty()) DLHOST_TRY(open_one(Phase::train, options.train, load));
    if (!options.validate.empty()) DLHOST_TRY(open_one(Phase::validate, options.validate, load));
    if (!options.test.empty()) DLHOST_TRY(open_one(Phase::test, options.test, load));
    if (!first_) return Status::invalid("it names no file: give it train, or test where the job only evaluates");
    deal_ = Deal(options.train.empty() ? 0 : sets_[0]->count(), options.test_every, options.validate_every);
    return {};
  }

  // The form that all sets have.
  const Set& first() const { return *first_; }
  std::int64_t count(Phase phase) const {
    const auto& own = sets_[static_cast<std::size_t>(phase)];
    return own && phase != Phase::train ? own->count() : deal_.count(phase);
  }
  // The set and the row in it.
  std::pair<const Set&, std::int64_t> find(Phase phase, std::int64_t index) const {
    const auto& own = sets_[static_cast<std::size_t>(phase)];
    if (own && phase != Phase::train) return {*own, index};
    return {*sets_[0], deal_.row(phase, index)};
  }

 private:
  static Status check(std::string_view name, bool no_file, std::int64_t every) {
    if (!no_file && every > 0) return Status::invalid(name, " and ", name, "_every exclude each other: leave one out");
    if (every == 1) return Status::invalid(name, "_every = 1 would leave nothing to train on");
    return {};
  }
  template <class Files, class Load> Status open_one(Phase phase, const Files& files, Load&& load) {
    DLHOST_ASSIGN(auto set, load(files, first_));
    auto& opened = sets_[static_cast<std::size_t>(phase)].emplace(std::move(set));
    if (!first_) first_ = &opened;
    return {};
  }

  std::array<std::optional<Set>, 3> sets_; // by phase
  const Set* first_ = nullptr;
  Deal deal_;
};

} // namespace dlhost::input
