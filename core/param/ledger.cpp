#include "param/ledger.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dlhost::param {
namespace {

constexpr std::size_t long_enough = 4096;
constexpr std::size_t part_bytes = 48; // the longest that a part takes: two numbers

} // namespace

std::string Ledger::file_in(const std::string& folder, std::uint32_t server) {
  return fmt::format("{}/server-{}.jsonl", folder, server);
}

Ledger::Ledger(std::unique_ptr<LogFile> file, std::vector<Owned> owned, std::size_t contributors)
    : file_(std::move(file)), owned_(std::move(owned)), chains_(owned_.size()) {
  for (Chain& chain : chains_) {
    chain.last.reserve(contributors);
    chain.told.reserve(contributors);
    chain.steps.resize(contributors);
    chain.text.reserve(long_enough + (contributors + 1) * part_bytes);
  }
  dropped_.reserve(long_enough + part_bytes);
  line_.reserve(2 * long_enough + (contributors + 1) * part_bytes);
}

Ledger::~Ledger() { sync().ignore("what comes after the last pause nobody relies on"); }

Status Ledger::begin(const Beginning& beginning) {
  nlohmann::ordered_json line{{"begin", beginning.version},
                              {"steps", beginning.steps},
                              {"origins", nlohmann::ordered_json::array()},
                              {"slices", nlohmann::ordered_json::array()}};
  for (const Origin& origin : beginning.origins) line["origins"].push_back({origin.step, origin.epoch, origin.index});
  for (const Owned& owned : owned_)
    line["slices"].push_back({{"slice", owned.slice->id},
                              {"param", owned.param},
                              {"first", owned.slice->first},
                              {"count", owned.slice->count}});
  for (Chain& chain : chains_) {
    chain.version = chain.next = beginning.version + 1;
    chain.steps = beginning.steps;
    chain.repeats = 0;
    chain.text.clear();
  }
  dropped_.clear();
  synced_ = false;
  return file_->append(line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
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
  return chain.text.size() < long_enough ? Status() : write(which);
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

Status Ledger::dropped(const Part& part) {
  synced_ = false;
  fmt::format_to(std::back_inserter(dropped_), "{}{}:{}", dropped_.empty() ? "" : " ", part.contributor, part.step);
  return dropped_.size() < long_enough ? Status() : write_dropped();
}

Status Ledger::write_dropped() {
  if (dropped_.empty()) return {};
  line_.clear();
  fmt::format_to(std::back_inserter(line_), "{{\"dropped\":\"{}\"}}\n", dropped_);
  dropped_.clear();
  return file_->append(line_);
}

Status Ledger::sync() {
  if (synced_) return {};
  DLHOST_TRY(write_dropped());
  for (std::size_t which = 0; which < chains_.size(); ++which) DLHOST_TRY(write(which));
  DLHOST_TRY(file_->sync());
  synced_ = true;
  return {};
}

Status Ledger::write(std::size_t which) {
  Chain& chain = chains_[which];
  close(chain);
  if (chain.text.empty()) return {};
  line_.clear();
  fmt::format_to(std::back_inserter(line_), "{{\"slice\":{},\"version\":{},\"made_of\":\"{}\"}}\n",
                 owned_[which].slice->id, chain.version, chain.text);
  chain.version = chain.next;
  chain.text.clear();
  return file_->append(line_);
}

} // namespace dlhost::param
