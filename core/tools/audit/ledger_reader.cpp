#include "tools/audit/ledger_reader.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "env/json_text.h"
#include "record/json_fault.h"

namespace dlhost::tools {

using Json = nlohmann::json;

namespace {

// True if the part was rolled back: the run continued from an earlier step.
bool is_void(const Audit::Part& part, const std::vector<std::uint64_t>& steps) {
  return part.step >= steps.at(part.contributor);
}

// True if all numbers of the line are whole and not negative.
bool counts(const Json& value) {
  if (value.is_structured()) return std::ranges::all_of(value, counts);
  return !value.is_number() || value.is_number_unsigned();
}

bool same(const Audit::Slice& a, const Audit::Slice& b) {
  return a.param == b.param && a.first == b.first && a.count == b.count && a.holders == b.holders;
}

param::Holders holders_of(const Json& slice) {
  param::Holders holders;
  if (!slice.contains("holders")) return holders;
  for (const auto& one : slice.at("holders")) holders.push_back({one.at(0), {one.at(1), one.at(2)}});
  return holders;
}

// Removes what was rolled back: all contributions after `version` or from `steps` on. If slices have versions of their
// own, the version alone does not tell which contributions were rolled back.
void cut(Audit::Slice& slice, Version version, const std::vector<std::uint64_t>& steps) {
  std::erase_if(slice.dropped, [&](const Audit::Part& part) { return is_void(part, steps); });
  for (Audit::Word& word : slice.words) {
    if (word.count == 0) { // amends a version
      std::erase_if(word.parts, [&](const Audit::Part& part) { return word.first > version || is_void(part, steps); });
      continue;
    }
    word.count = word.first > version ? 0 : std::min(word.count, version - word.first + 1);
    for (const Audit::Part& part : word.parts)
      word.count = is_void(part, steps) ? 0 : std::min(word.count, steps.at(part.contributor) - part.step);
    if (word.count == 0) word.parts.clear();
  }
  std::erase_if(slice.words, [](const Audit::Word& word) { return word.parts.empty(); });
}

void exchange(Audit::Exchanges& exchanges, const Json& line) {
  std::vector<param::Ledger::Heard> heard;
  if (line.contains("heard"))
    for (const auto& one : line.at("heard")) heard.push_back({one.at(0), one.at(1)});
  std::vector<param::Ledger::Outlived> outlived;
  if (line.contains("outlived"))
    for (const auto& one : line.at("outlived")) outlived.push_back({one.at(0), one.at(1)});
  if (line.contains("exchange"))
    exchanges.exchanged.push_back({line.at("exchange"), line.at("learned"), line.at("version")});
  else if (line.contains("told"))
    exchanges.told.push_back(
        {line.at("told"), line.at("part"), line.at("learned"), std::move(heard), std::move(outlived)});
  else
    exchanges.heard.push_back({line.at("version"), std::move(heard), std::move(outlived)});
}

bool take(std::string_view& text, std::uint64_t& number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return true;
}

bool take(std::string_view& text, char sign) {
  if (!text.starts_with(sign)) return false;
  text.remove_prefix(1);
  return true;
}

// Parses the contributions of versions, such as "0+1:17*20".
Result<Audit::Word> parse(std::string_view text, const std::vector<std::uint64_t>& next) {
  const std::string whole(text);
  const auto wrong = [&] { return Status::corrupt("'", whole, "' is not a list of contributions"); };
  Audit::Word word;
  do {
    Audit::Part part;
    if (!take(text, part.contributor) || part.contributor >= next.size()) return wrong();
    part.step = next[part.contributor];
    if (take(text, ':') && !take(text, part.step)) return wrong();
    word.parts.push_back(part);
  } while (take(text, '+'));
  if (take(text, '*') && (!take(text, word.count) || word.count == 0)) return wrong();
  if (!text.empty()) return wrong();
  return word;
}

} // namespace

void LedgerReader::read(std::string_view text, const std::string& path, const record::LedgerOf& of) {
  time_ = of.attempt;
  files_.push_back({.path = path, .attempt = of.attempt, .server = server_});
  Audit::File& file = files_.back();
  param::LedgerChain chain;
  while (!text.empty() && file.whole) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) { // cut when the machine stopped; no checkpoint needs it
      torn_ = path;
      return;
    }
    const Status status = take(text.substr(0, end), chain, of);
    text.remove_prefix(end + 1);
    if (status.ok())
      file.chain.push_back(chain.last());
    else
      faults_.push_back(fmt::format("{}:{}: {}", path, file.chain.size() + 1, status.message()));
    file.whole = status.ok();
  }
}

Status LedgerReader::take(std::string_view text, param::LedgerChain& chain, const record::LedgerOf& of) {
  if (!chain.takes(text))
    return Status::corrupt(text.find(",\"chain\":\"") == std::string_view::npos
                               ? "it has no link to the lines before it: it was cut, or another dlhost wrote it"
                               : "this line or a line before it was changed, removed, added or moved; the rest of this "
                                 "file is not checked");
  try {
    const Json line = env::parse_json(text);
    if (!counts(line)) return Status::corrupt("it is not a line of a ledger: a number in it is below 0 or not whole");
    const bool begins = line.contains("begin"), first = chain.lines() == 1, again = line.contains("again");
    if (begins != (first || again) || (first && again))
      return Status::corrupt(
          "a file says where it begins in its first line only, or where a lost group continues (again)");
    return begins ? begin_file(line, of) : take_line(line);
  } catch (const Json::exception& error) {
    return Status::corrupt("it is not a line of a ledger: ", record::json_fault(error));
  } catch (const std::exception&) {
    return Status::corrupt("it is not a line of a ledger: it names something unknown");
  }
}

Status LedgerReader::begin_file(const Json& line, const record::LedgerOf& of) {
  const auto is_of = line.value("of", std::string());
  const auto server = line.value("server", std::uint64_t{0});
  files_.back().numbers = line.value("numbers", std::string());
  files_.back().job = line.value("job", std::string());
  if (is_of != record::to_string(of) || server != server_)
    return Status::corrupt("this is server ", server, "'s of ", is_of, ", but lies in the place of server ", server_,
                           "'s of ", record::to_string(of), " (run, arrangement, attempt)");
  return begin(line);
}

Status LedgerReader::take_line(const Json& line) {
  if (!line.contains("slice")) return drop(line.at("dropped").get<std::string>(), dropped_);
  const auto slice = slices_.find(line.at("slice").get<SliceId>());
  if (slice == slices_.end())
    return Status::corrupt("slice ", env::json_text(line.at("slice")), " is not in the begin line");
  if (line.contains("dropped")) return drop(line.at("dropped").get<std::string>(), slice->second.slice.dropped);
  if (line.contains("exchange") || line.contains("heard")) {
    exchange(slice->second.slice.exchanges.back(), line);
    return {};
  }
  if (line.contains("amended_by"))
    return amend(slice->second, line.at("version").get<Version>(), line.at("amended_by").get<std::string>());
  return extend(slice->second, line.at("version").get<Version>(), line.at("made_of").get<std::string>());
}

void LedgerReader::add_to(Audit& audit) {
  for (auto& [id, read] : slices_) audit.slices.push_back(std::move(read.slice));
  audit.contributors = std::max(audit.contributors, steps_.size());
  audit.begun = std::max(audit.begun, begun_);
  audit.origins = origins_;
  audit.dropped.insert(audit.dropped.end(), dropped_.begin(), dropped_.end());
  audit.faults.insert(audit.faults.end(), faults_.begin(), faults_.end());
  std::ranges::move(files_, std::back_inserter(audit.files));
  if (!torn_.empty()) audit.torn.push_back(torn_);
}

// Continues the slice's earlier record from the version with which `slice` begins. Later versions are void.
void LedgerReader::go_on(Audit::Slice& slice, Audit::Slice before) {
  const Version begun = slice.begun;
  const std::vector<std::uint64_t> steps = slice.steps;
  if (before.last < begun)
    faults_.push_back(fmt::format("the run begins once more with version {} of slice {} ({}), and those behind "
                                  "version {} are not written down",
                                  begun, slice.id, slice.param, before.last));
  if (before.begun <= begun) {
    slice.begun = before.begun;
    slice.steps = std::move(before.steps);
  }
  slice.words = std::move(before.words);
  slice.dropped = std::move(before.dropped);
  slice.exchanges = std::move(before.exchanges);
  cut(slice, begun, steps);
}

Status LedgerReader::begin(const Json& line) {
  const auto version = line.at("begin").get<Version>();
  auto all_steps = line.at("steps").get<std::vector<std::uint64_t>>();
  if (all_steps.empty() || (contributors_ != 0 && all_steps.size() != contributors_))
    return Status::corrupt("it is of ", all_steps.size(), " workers, but files before it of ", contributors_);
  std::vector<param::SampleOrigin> origins;
  for (const auto& origin : line.at("origins")) origins.push_back({origin.at(0), origin.at(1), origin.at(2)});
  std::vector<Audit::Slice> slices;
  for (const auto& one : line.at("slices")) {
    const Version begun = one.value("version", version);
    slices.push_back({.id = one.at("slice"),
                      .server = server_,
                      .param = one.at("param"),
                      .first = one.at("first"),
                      .count = one.at("count"),
                      .begun = begun,
                      .last = begun,
                      .holders = holders_of(one),
                      .steps = one.value("steps", all_steps),
                      .words = {},
                      .dropped = {},
                      .exchanges = {}});
    if (slices.back().steps.size() != all_steps.size())
      return Status::corrupt("slice ", slices.back().id, " is of ", slices.back().steps.size(), " workers of ",
                             all_steps.size());
  }
  const bool summed = line.value("summed", false);
  // The whole line has been read: from here on nothing fails.
  steps_ = std::move(all_steps);
  origins_ = std::move(origins);
  contributors_ = steps_.size();
  const bool again = line.contains("again"); // the other groups went on
  if (!again) ++begun_;
  torn_.clear();
  std::map<SliceId, Read> before = std::exchange(slices_, {});
  for (Audit::Slice& slice : slices) {
    const Version begun = slice.begun;
    std::vector<std::uint64_t> steps = slice.steps;
    if (const auto known = before.find(slice.id); known != before.end() && same(known->second.slice, slice))
      go_on(slice, std::move(known->second.slice));
    if (again && !slice.exchanges.empty())
      std::erase_if(slice.exchanges.back().heard, [&](const auto& heard) { return heard.version > begun; });
    else
      slice.exchanges.push_back(
          {.time = time_, .begun = begun, .summed = summed, .exchanged = {}, .told = {}, .heard = {}});
    slices_[slice.id] = {std::move(slice), std::move(steps)};
  }
  std::erase_if(dropped_, [&](const Audit::Part& part) { return is_void(part, steps_); });
  return {};
}

Status LedgerReader::extend(Read& read, Version version, std::string_view words) {
  if (version != read.slice.last + 1)
    faults_.push_back(fmt::format("versions {} to {} of slice {} ({}) are not written down", read.slice.last + 1,
                                  version - 1, read.slice.id, read.slice.param));
  for (Version at = version; !words.empty();) {
    const auto end = std::min(words.find(' '), words.size());
    DLHOST_ASSIGN(Audit::Word word, parse(words.substr(0, end), read.next));
    words.remove_prefix(std::min(end + 1, words.size()));
    word.first = at;
    at += word.count;
    read.slice.last = at - 1;
    for (const Audit::Part& part : word.parts) read.next[part.contributor] = part.step + word.count;
    read.slice.words.push_back(std::move(word));
  }
  return {};
}

Status LedgerReader::amend(Read& read, Version version, std::string_view parts) {
  if (version != read.slice.last)
    faults_.push_back(fmt::format("version {} of slice {} ({}) is amended behind version {}", version, read.slice.id,
                                  read.slice.param, read.slice.last));
  DLHOST_ASSIGN(Audit::Word word, parse(parts, read.next));
  word.first = version;
  word.count = 0;
  read.slice.words.push_back(std::move(word));
  return {};
}

Status LedgerReader::drop(std::string_view words, std::vector<Audit::Part>& dropped) {
  while (!words.empty()) {
    const auto end = std::min(words.find(' '), words.size());
    DLHOST_ASSIGN(const Audit::Word word, parse(words.substr(0, end), steps_));
    dropped.push_back(word.parts.front());
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return {};
}

} // namespace dlhost::tools
