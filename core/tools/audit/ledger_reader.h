// Reads the files that one server wrote of a ledger (param/server/ledger.h), line by line. The audit gets the lines of
// each file up to the first that was altered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "param/server/ledger_chain.h"
#include "tools/audit/audit.h"

namespace dlhost::tools {

class LedgerReader {
 public:
  explicit LedgerReader(std::uint32_t server) : server_(server) {}

  // Reads the server's file of an attempt up to the first altered line. Requires: attempts in order.
  void read(std::string_view text, const std::string& path, const record::LedgerOf& of);
  void add_to(Audit& audit);

 private:
  struct Read {
    Audit::Slice slice;
    std::vector<std::uint64_t> next; // for each contributor: its next step
  };
  Status take(std::string_view text, param::LedgerChain& chain, const record::LedgerOf& of);
  Status take_line(const nlohmann::json& line);
  Status begin_file(const nlohmann::json& line, const record::LedgerOf& of);
  void go_on(Audit::Slice& slice, Audit::Slice before);
  Status begin(const nlohmann::json& line);
  Status extend(Read& read, Version version, std::string_view words);
  Status amend(Read& read, Version version, std::string_view parts);
  Status drop(std::string_view words, std::vector<Audit::Part>& dropped);

  std::uint32_t server_;
  std::map<SliceId, Read> slices_;
  std::vector<std::uint64_t> steps_; // for each contributor: its first step after the last begin
  std::vector<param::SampleOrigin> origins_;
  std::vector<Audit::Part> dropped_;
  std::size_t begun_ = 0, time_ = 0, contributors_ = 0;
  std::vector<std::string> faults_;
  std::vector<Audit::File> files_;
  std::string torn_; // the last file read, if its last line is cut off
};

} // namespace dlhost::tools
