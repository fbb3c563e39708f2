// A TensorBoard event file: a log of scalars by tag and step, each record framed by checksums. Thread: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <dlhost/host.h>

#include "record/report.h"

namespace dlhost::record {

class Tensorboard {
 public:
  // Makes a new event file in the folder. `resumed_from`: TensorBoard drops later steps of older files; 0: not resumed.
  static Result<std::unique_ptr<Tensorboard>> open(Host&, const std::string& folder, std::uint64_t resumed_from);
  ~Tensorboard();

  // add() collects the values of one event; write() writes it.
  void add(std::string_view prefix, std::string_view name, double value); // the tag is prefix/name, or name
  void add_text(std::string_view prefix, std::string_view name, std::string markdown);
  Status write(std::uint64_t step);

  // False: built without protobuf; then nothing is written.
  static const bool built;

 private:
  struct Open; // keeps protobuf out of the headers
  explicit Tensorboard(std::unique_ptr<Open>);
  std::unique_ptr<Open> open_;
};

} // namespace dlhost::record
