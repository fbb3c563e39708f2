#include "param/server/ledger.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "env/json_text.h"

namespace dlhost::param {
namespace {

constexpr std::string_view file_begins = "server-", file_ends = ".jsonl";
constexpr std::size_t long_enough = 4096;
constexpr std::size_t part_bytes = 48; // the longest that a part takes: two numbers

} // namespace

std::string Ledger::file_in(const std::string& folder, std::uint32_t server) {
  return fmt::format("{}/{}{}{}", folder, file_begins, server, file_ends);
}

std::optional<std::uint32_t> Ledger::server_of(std::string_view file) {
  if (!file.starts_with(file_begins) || !file.ends_with(file_ends)) return {};
  file.remove_prefix(file_begins.size());
  file.remove_suffix(file_ends.size());
  std::uint32_t server = 0;
  const auto read = std::from_chars(file.data(), file.data() + file.size(), server);
  return read.ec == std::errc() && read.ptr == file.data() + file.size() ? std::optional(server) : std::nullopt;
}

Ledger::Ledger(std::unique_ptr<LogFile> file, std::vector<Owned> owned, std::size_t contributors, Keeping keeping)
    : file_(std::move(file)), keeping_(keeping), owned_(std::move(owned)), chains_(owned_.size()) {
  for (Chain& chain : chains_) {
    chain.last.reserve(most_parts(contributors));
    chain.told.reserve(most_parts(contributors));
    chain.steps.resize(contributors);
    chain.text.reserve(long_enough + (most_parts(contributors) + 1) * part_bytes);
    chain.dropped.reserve(long_enough + part_bytes);
  }
  dropped_.reserve(long_enough + part_bytes);
  exchanges_.reserve(2 * long_enough);
  line_.reserve(2 * long_enough + (most_parts(contributors) + 1) * part_bytes + LedgerChain::bytes);
}

Ledger::~Ledger() { sync().ignore("what comes after the last pause nobody relies on"); }

Status Ledger::begin(const StartPoint& beginning, std::string_view before) {
  nlohmann::ordered_json line{{"begin", beginning.version},
                              {"of", record::to_string(beginning.ledger_of)},
                              {"server", keeping_.server},
                              {"steps", beginning.steps},
                              {"origins", nlohmann::ordered_json::array()},
                              {"slices", nlohmann::ordered_json::array()}};
  if (!beginning.ledger_of.numbers.empty()) line["numbers"] = beginning.ledger_of.numbers;
  if (!beginning.ledger_of.job.empty()) line["job"] = beginning.ledger_of.job;
  if (keeping_.summed) line["summed"] = true;
  if (!before.empty()) line["again"] = beginning.joining->number;
  for (const SampleOrigin& origin : beginning.origins)
    line["origins"].push_back({origin.step, origin.epoch, origin.index});
  for (std::size_t which = 0; which < owned_.size(); ++which) {
    const Owned& owned = owned_[which];
    auto& slice = line["slices"].emplace_back(nlohmann::ordered_json{{"slice", owned.slice->id},
                                                                     {"param", owned.param},
                                                                     {"first", owned.slice->first},
                                                                     {"count", owned.slice->count}});
    for (const Holder& holder : owned.holders)
      slice["holders"].push_back({holder.rank, holder.rows.first, holder.rows.count});
    Chain& chain = chains_[which];
    chain.version = chain.next = beginning.version_of(owned.slice->id) + 1;
    chain.steps = beginning.steps_of(owned.slice->id);
    if (!beginning.slices.empty()) slice.update({{"version", chain.version - 1}, {"steps", chain.steps}});
    chain.repeats = 0;
    chain.text.clear();
    chain.dropped.clear();
  }
  dropped_.clear();
  exchanges_.clear();
  synced_ = false;
  for (std::size_t number = 1; !before.empty(); ++number) {
    const auto end = before.find('\n');
    if (end == std::string_view::npos || !written_.takes(before.substr(0, end)))
      return Status::corrupt("line ", number, " of the ledger that a lost server left is not as it was written");
    before.remove_prefix(end + 1);
  }
  std::string text = env::json_text(line);
  written_.close(text);
  return file_->append(text);
}

bool Ledger::repeats(const Chain& chain, std::span<const Part> parts) const {
  if (chain.repeats == 0 || parts.size() != chain.last.size()) return false;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (parts[i].contributor != chain.last[i].contributor || parts[i].step != chain.steps[parts[i].contributor])
      return false;
  return true;
}

Status Ledger::made(std::size_t which, std::span<const Part> parts) {
  synced_ = false;
  Chain& chain = chains_[which];
  if (repeats(chain, parts)) {
    ++chain.repeats;
  } else {
    close(chain);
    chain.last.assign(parts.begin(), parts.end());
    chain.told.clear();
    for (const Part& part : parts) chain.told.push_back(part.step != chain.steps[part.contributor]);
    chain.repeats = 1;
  }
  for (const Part& part : parts) chain.steps[part.contributor] = part.step + 1;
  ++chain.next;
  return chain.text.size() < long_enough && !keeping_.at_once ? Status() : write(which);
}

// The newest version's word joins the others.
void Ledger::close(Chain& chain) {
  if (chain.repeats == 0) return;
  auto out = std::back_inserter(chain.text);
  if (!chain.text.empty()) *out++ = ' ';
  for (std::size_t i = 0; i < chain.last.size(); ++i) {
    // The step is that of the word's first version.
    const Part& part = chain.last[i];
    fmt::format_to(out, "{}{}", i == 0 ? "" : "+", part.contributor);
    if (chain.told[i]) fmt::format_to(out, ":{}", part.step);
  }
  if (chain.repeats > 1) fmt::format_to(out, "*{}", chain.repeats);
  chain.repeats = 0;
}

void Ledger::print(std::string& to, const Part& part) {
  fmt::format_to(std::back_inserter(to), "{}{}:{}", to.empty() ? "" : " ", part.contributor, part.step);
}

Status Ledger::dropped(const Part& part) {
  synced_ = false;
  print(dropped_, part);
  return dropped_.size() < long_enough && !keeping_.at_once ? Status() : write_dropped();
}

Status Ledger::dropped(std::size_t which, const Part& part) {
  synced_ = false;
  print(chains_[which].dropped, part);
  return chains_[which].dropped.size() < long_enough && !keeping_.at_once ? Status() : write(which);
}

Status Ledger::amended(std::size_t which, std::span<const Part> parts) {
  DLHOST_TRY(write(which));
  synced_ = false;
  line_.clear();
  auto out = std::back_inserter(line_);
  fmt::format_to(out, "{{\"slice\":{},\"version\":{},\"amended_by\":\"", owned_[which].slice->id,
                 chains_[which].next - 1);
  for (std::size_t i = 0; i < parts.size(); ++i)
    fmt::format_to(out, "{}{}:{}", i == 0 ? "" : "+", parts[i].contributor, parts[i].step);
  line_ += "\"}";
  return write_line();
}

Status Ledger::exchanged(std::size_t which, std::uint64_t number, Version learned, Version now) {
  fmt::format_to(std::back_inserter(exchanges_), "{{\"slice\":{},\"exchange\":{},\"learned\":{},\"version\":{}}}\n",
                 owned_[which].slice->id, number, learned, now);
  return note_exchange();
}

Status Ledger::told(std::size_t which, std::uint32_t group, std::uint64_t part, Version learned,
                    std::span<const Heard> heard, std::span<const Outlived> outlived) {
  fmt::format_to(std::back_inserter(exchanges_), "{{\"slice\":{},\"told\":{},\"part\":{},\"learned\":{}",
                 owned_[which].slice->id, group, part, learned);
  print(heard, outlived);
  exchanges_ += "}\n";
  return note_exchange();
}

Status Ledger::heard(std::size_t which, std::span<const Heard> heard, Version now, std::span<const Outlived> outlived) {
  fmt::format_to(std::back_inserter(exchanges_), "{{\"slice\":{},\"version\":{}", owned_[which].slice->id, now);
  print(heard, outlived);
  exchanges_ += "}\n";
  return note_exchange();
}

void Ledger::print(std::span<const Heard> heard, std::span<const Outlived> outlived) {
  exchanges_ += ",\"heard\":[";
  for (std::size_t i = 0; i < heard.size(); ++i)
    fmt::format_to(std::back_inserter(exchanges_), "{}[{},{}]", i == 0 ? "" : ",", heard[i].group, heard[i].parts);
  exchanges_ += ']';
  if (outlived.empty()) return;
  exchanges_ += ",\"outlived\":[";
  for (std::size_t i = 0; i < outlived.size(); ++i)
    fmt::format_to(std::back_inserter(exchanges_), "{}[{},{}]", i == 0 ? "" : ",", outlived[i].group,
                   outlived[i].version);
  exchanges_ += ']';
}

Status Ledger::note_exchange() {
  synced_ = false;
  return exchanges_.size() < long_enough && !keeping_.at_once ? Status() : write_exchanges();
}

Status Ledger::write_exchanges() {
  for (std::string_view rest = exchanges_; !rest.empty();) {
    const auto end = rest.find('\n');
    line_ = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    DLHOST_TRY(write_line());
  }
  exchanges_.clear();
  return {};
}

Status Ledger::write_line() {
  written_.close(line_);
  return file_->append(line_);
}

Status Ledger::write_dropped() {
  if (dropped_.empty()) return {};
  line_.clear();
  fmt::format_to(std::back_inserter(line_), "{{\"dropped\":\"{}\"}}", dropped_);
  dropped_.clear();
  return write_line();
}

Status Ledger::sync() {
  if (synced_) return {};
  DLHOST_TRY(write_dropped());
  DLHOST_TRY(write_exchanges());
  for (std::size_t which = 0; which < chains_.size(); ++which) DLHOST_TRY(write(which));
  Status written = file_->sync();
  // A full disk does not stop training: the lines stay in memory until the next sync.
  if (written.code() == Code::no_space) return {};
  synced_ = written.ok();
  return written;
}

Status Ledger::write(std::size_t which) {
  Chain& chain = chains_[which];
  if (!chain.dropped.empty()) {
    line_.clear();
    fmt::format_to(std::back_inserter(line_), "{{\"slice\":{},\"dropped\":\"{}\"}}", owned_[which].slice->id,
                   chain.dropped);
    chain.dropped.clear();
    DLHOST_TRY(write_line());
  }
  close(chain);
  if (chain.text.empty()) return {};
  line_.clear();
  fmt::format_to(std::back_inserter(line_), "{{\"slice\":{},\"version\":{},\"made_of\":\"{}\"}}",
                 owned_[which].slice->id, chain.version, chain.text);
  chain.version = chain.next;
  chain.text.clear();
  return write_line();
}

} // namespace dlhost::param
