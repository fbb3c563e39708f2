#include "record/ledger_head.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "env/json_text.h"

namespace dlhost::record {
namespace {

constexpr std::size_t digits = 16;
constexpr std::uint64_t most = 1'000'000'000'000'000; // lines, and attempts

std::optional<std::uint64_t> count_of(const nlohmann::json& value, std::uint64_t least, std::uint64_t limit) {
  if (!value.is_number_unsigned()) return {};
  const auto count = value.get<std::uint64_t>();
  return count >= least && count <= limit ? std::optional(count) : std::nullopt;
}

std::optional<std::uint64_t> digest_of(const nlohmann::json& value) {
  if (!value.is_string()) return {};
  const auto& text = value.get_ref<const std::string&>();
  std::uint64_t digest = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), digest, 16);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return whole && text.size() == digits ? std::optional(digest) : std::nullopt;
}

std::optional<LedgerHead> head_of(const nlohmann::json& json) {
  if (!json.is_array() || json.size() != 5) return {};
  const auto arrangement = count_of(json[0], 1, most), attempt = count_of(json[1], 1, most);
  const auto server = count_of(json[2], 0, std::numeric_limits<std::uint32_t>::max()),
             lines = count_of(json[3], 1, most);
  const auto chain = digest_of(json[4]);
  if (!arrangement || !attempt || !server || !lines || !chain) return {};
  return LedgerHead{.arrangement = *arrangement,
                    .attempt = *attempt,
                    .server = static_cast<std::uint32_t>(*server),
                    .lines = *lines,
                    .chain = *chain};
}

} // namespace

std::string to_string(const LedgerOf& of) { return fmt::format("{}/{}/{}", of.run, of.arrangement, of.attempt); }

void LedgerHeads::add(const LedgerHeads& now) {
  if (now.run.empty()) return;
  if (run != now.run) {
    *this = now;
    return;
  }
  if (!now.steps.empty()) steps = now.steps;
  for (const LedgerHead& head : now.all) {
    const auto known = std::ranges::find_if(all, [&](const LedgerHead& one) {
      return one.arrangement == head.arrangement && one.attempt == head.attempt && one.server == head.server;
    });
    if (known == all.end())
      all.push_back(head);
    else if (known->lines < head.lines)
      *known = head;
  }
}

nlohmann::ordered_json json_of(const LedgerHeads& heads) {
  auto all = nlohmann::ordered_json::array();
  for (const LedgerHead& head : heads.all)
    all.push_back({head.arrangement, head.attempt, head.server, head.lines, fmt::format("{:016x}", head.chain)});
  return {{"run", heads.run}, {"steps", heads.steps}, {"heads", std::move(all)}};
}

Result<LedgerHeads> ledger_heads(const nlohmann::json& json) {
  if (!json.is_object() || !json.contains("run") || !json["run"].is_string() || !json.contains("heads") ||
      !json["heads"].is_array() || !json.contains("steps") || !json["steps"].is_array())
    return Status::corrupt("must name a run, its workers' steps, and the heads of its ledgers");
  LedgerHeads heads{.run = json["run"].get<std::string>(), .all = {}, .steps = {}};
  for (const auto& one : json["steps"]) {
    const auto steps = count_of(one, 0, most);
    if (!steps) return Status::corrupt("has steps that are not counts of at most ", most);
    heads.steps.push_back(*steps);
  }
  for (const auto& one : json["heads"]) {
    const auto head = head_of(one);
    if (!head)
      return Status::corrupt("has '", env::json_text(one),
                             "', which is not the head of a ledger: arrangement, attempt, server, lines "
                             "and a digest of 16 hexadecimal digits");
    heads.all.push_back(*head);
  }
  return heads;
}

} // namespace dlhost::record
