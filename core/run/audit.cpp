#include "run/audit.h"

#include <algorithm>
#include <charconv>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "run/ledgers.h"

namespace dlhost::run {
namespace {

using Json = nlohmann::json;

// One server's ledger.
class Reader {
 public:
  explicit Reader(std::uint32_t server) : server_(server) {}

  // What is read now was written when the run began for that time.
  void begins(std::size_t time) { time_ = time; }
  void ends_torn(const std::string& path) { torn_ = path; }

  Status line(const Json& line) {
    if (line.contains("begin")) return begin(line);
    if (!line.contains("slice")) return drop(line.at("dropped").get<std::string>(), dropped_);
    const auto slice = slices_.find(line.at("slice").get<SliceId>());
    if (slice == slices_.end()) return Status::corrupt("slice ", line.at("slice").dump(), " was not begun with");
    if (line.contains("dropped")) return drop(line.at("dropped").get<std::string>(), slice->second.slice.dropped);
    if (line.contains("exchange") || line.contains("heard")) {
      exchange(slice->second.slice.exchanges.back(), line);
      return {};
    }
    if (line.contains("amended_by"))
      return amend(slice->second, line.at("version").get<Version>(), line.at("amended_by").get<std::string>());
    return extend(slice->second, line.at("version").get<Version>(), line.at("made_of").get<std::string>());
  }

  void add_to(Audit& audit) {
    for (auto& [id, read] : slices_) audit.slices.push_back(std::move(read.slice));
    audit.contributors = std::max(audit.contributors, steps_.size());
    audit.begun = std::max(audit.begun, begun_);
    audit.origins = origins_;
    audit.dropped.insert(audit.dropped.end(), dropped_.begin(), dropped_.end());
    audit.faults.insert(audit.faults.end(), faults_.begin(), faults_.end());
    if (!torn_.empty()) audit.torn.push_back(torn_);
  }

 private:
  struct Read {
    Audit::Slice slice;
    std::vector<std::uint64_t> next; // of each contributor: the step that it goes on with
  };

  // What was made after that version is void.
  Status begin(const Json& line) {
    const auto version = line.at("begin").get<Version>();
    steps_ = line.at("steps").get<std::vector<std::uint64_t>>();
    origins_.clear();
    for (const auto& origin : line.at("origins")) origins_.push_back({origin.at(0), origin.at(1), origin.at(2)});
    ++begun_;
    torn_.clear();
    std::map<SliceId, Read> before = std::move(slices_);
    slices_.clear();
    for (const auto& one : line.at("slices")) {
      const Version begun = one.value("version", version);
      auto steps = one.value("steps", steps_);
      Audit::Slice slice{.id = one.at("slice"),
                         .server = server_,
                         .param = one.at("param"),
                         .first = one.at("first"),
                         .count = one.at("count"),
                         .begun = begun,
                         .last = begun,
                         .words = {},
                         .dropped = {},
                         .exchanges = {}};
      const auto known = before.find(slice.id);
      if (known != before.end() && same(known->second.slice, slice)) {
        if (known->second.slice.last < begun)
          faults_.push_back(fmt::format("the run begins once more with version {} of slice {} ({}), and those behind "
                                        "version {} are not written down",
                                        begun, slice.id, slice.param, known->second.slice.last));
        slice.begun = std::min(known->second.slice.begun, begun);
        slice.words = std::move(known->second.slice.words);
        slice.dropped = std::move(known->second.slice.dropped);
        slice.exchanges = std::move(known->second.slice.exchanges);
        cut(slice, begun, steps);
      }
      slice.exchanges.push_back({.time = time_,
                                 .begun = begun,
                                 .summed = line.value("summed", false),
                                 .exchanged = {},
                                 .told = {},
                                 .heard = {}});
      slices_[slice.id] = {std::move(slice), std::move(steps)};
    }
    std::erase_if(dropped_, [&](const Audit::Part& part) { return is_void(part, steps_); });
    return {};
  }

  // The run has gone on from before that step.
  static bool is_void(const Audit::Part& part, const std::vector<std::uint64_t>& steps) {
    return part.step >= steps.at(part.contributor);
  }

  static bool same(const Audit::Slice& a, const Audit::Slice& b) {
    return a.param == b.param && a.first == b.first && a.count == b.count;
  }

  // What goes on from there has none of the steps behind it. Where slices are at versions of their own, their numbers
  // alone do not say which versions were made of such.
  static void cut(Audit::Slice& slice, Version version, const std::vector<std::uint64_t>& steps) {
    std::erase_if(slice.dropped, [&](const Audit::Part& part) { return is_void(part, steps); });
    for (Audit::Word& word : slice.words) {
      if (word.count == 0) { // amends a version
        std::erase_if(word.parts,
                      [&](const Audit::Part& part) { return word.first > version || is_void(part, steps); });
        continue;
      }
      word.count = word.first > version ? 0 : std::min(word.count, version - word.first + 1);
      for (const Audit::Part& part : word.parts)
        word.count = is_void(part, steps) ? 0 : std::min(word.count, steps.at(part.contributor) - part.step);
      if (word.count == 0) word.parts.clear();
    }
    std::erase_if(slice.words, [](const Audit::Word& word) { return word.parts.empty(); });
  }

  Status extend(Read& read, Version version, std::string_view words) {
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

  static void exchange(Audit::Exchanges& exchanges, const Json& line) {
    std::vector<param::Ledger::Heard> heard;
    if (line.contains("heard"))
      for (const auto& one : line.at("heard")) heard.push_back({one.at(0), one.at(1)});
    if (line.contains("exchange"))
      exchanges.exchanged.push_back({line.at("exchange"), line.at("learned"), line.at("version")});
    else if (line.contains("told"))
      exchanges.told.push_back({line.at("told"), line.at("part"), line.at("learned"), std::move(heard)});
    else
      exchanges.heard.push_back({line.at("version"), std::move(heard)});
  }

  Status amend(Read& read, Version version, std::string_view parts) {
    if (version != read.slice.last)
      faults_.push_back(fmt::format("version {} of slice {} ({}) is amended behind version {}", version, read.slice.id,
                                    read.slice.param, read.slice.last));
    DLHOST_ASSIGN(Audit::Word word, parse(parts, read.next));
    word.first = version;
    word.count = 0;
    read.slice.words.push_back(std::move(word));
    return {};
  }

  Status drop(std::string_view words, std::vector<Audit::Part>& dropped) {
    while (!words.empty()) {
      const auto end = std::min(words.find(' '), words.size());
      DLHOST_ASSIGN(const Audit::Word word, parse(words.substr(0, end), steps_));
      dropped.push_back(word.parts.front());
      words.remove_prefix(std::min(end + 1, words.size()));
    }
    return {};
  }

  static bool take(std::string_view& text, std::uint64_t& number) {
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (read.ec != std::errc()) return false;
    text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
    return true;
  }
  static bool take(std::string_view& text, char sign) {
    if (!text.starts_with(sign)) return false;
    text.remove_prefix(1);
    return true;
  }

  // "0+1:17*20"
  static Result<Audit::Word> parse(std::string_view text, const std::vector<std::uint64_t>& next) {
    const std::string whole(text);
    const auto wrong = [&] { return Status::corrupt("'", whole, "' is not what made a version"); };
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

  std::uint32_t server_;
  std::map<SliceId, Read> slices_;
  std::vector<std::uint64_t> steps_; // of each contributor, where the run began last
  std::vector<param::Origin> origins_;
  std::vector<Audit::Part> dropped_;
  std::size_t begun_ = 0, time_ = 0;
  std::vector<std::string> faults_;
  std::string torn_; // the file read last
};

// What the machine's stop tore is no line: its end is missing, and nobody has relied on it who went on later.
Status read(Disk& disk, const std::string& path, Reader& reader) {
  DLHOST_ASSIGN(const auto text, disk.read_text(path));
  std::size_t number = 0;
  std::size_t at = 0;
  for (std::size_t end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    ++number;
    try {
      Status status = reader.line(
          Json::parse(text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(end)));
      if (!status.ok()) return std::move(status).at(path, ":", number);
    } catch (const std::exception& error) {
      return Status::corrupt(path, ":", number, ": is no line of a ledger: ", error.what());
    }
  }
  if (at < text.size()) reader.ends_torn(path);
  return {};
}

// A server may have died before it wrote anything, or have had nothing to write.
Result<std::map<std::uint32_t, Reader>> read_all(Disk& disk, const std::string& folder) {
  std::map<std::uint32_t, Reader> readers;
  const auto begun = begun_in(disk, folder);
  for (std::size_t time = 0; time < begun.size(); ++time) {
    DLHOST_ASSIGN(const auto entries, disk.list(begun[time]));
    for (const auto& entry : entries) {
      const auto server = param::Ledger::server_of(entry.name);
      if (!server) continue;
      Reader& reader = readers.try_emplace(*server, *server).first->second;
      reader.begins(time + 1);
      DLHOST_TRY(read(disk, concat(begun[time], "/", entry.name), reader));
    }
  }
  return readers;
}

void look_for_doubles(Audit& audit) {
  for (const auto& slice : audit.slices) {
    std::vector<std::uint64_t> next(audit.contributors);
    for (const auto& word : slice.words)
      for (const Audit::Part& part : word.parts) {
        if (part.step < next[part.contributor])
          audit.faults.push_back(fmt::format("step {} of worker {} counts twice in slice {} ({}), again in version {}",
                                             part.step, part.contributor, slice.id, slice.param, word.first));
        next[part.contributor] = std::max(next[part.contributor], part.step + std::max<std::uint64_t>(word.count, 1));
      }
  }
}

// In a server group a slice has one, for as long as the run goes on from where it began.
void look_for_second_owners(Audit& audit, std::uint32_t servers_per_group) {
  for (std::size_t i = 1; i < audit.slices.size(); ++i)
    for (std::size_t j = i; j-- > 0 && audit.slices[j].id == audit.slices[i].id;) {
      const Audit::Slice &one = audit.slices[j], &other = audit.slices[i];
      const std::uint32_t group = one.server / servers_per_group;
      if (other.server / servers_per_group != group) continue;
      for (const Audit::Exchanges& begun : one.exchanges)
        if (std::ranges::find(other.exchanges, begun.time, &Audit::Exchanges::time) != other.exchanges.end())
          audit.faults.push_back(fmt::format("servers {} and {} of server group {} both have slice {} ({}) in begun-{}",
                                             one.server, other.server, group, one.id, one.param, begun.time));
    }
}

} // namespace

std::vector<Audit::Part> Audit::Slice::parts_of(Version version) const {
  std::vector<Audit::Part> parts;
  for (auto word = std::ranges::upper_bound(words, version, {}, &Word::first); word != words.begin();) {
    --word;
    if (version >= word->first + std::max<std::uint64_t>(word->count, 1)) break;
    for (Audit::Part part : word->parts) parts.push_back({part.contributor, part.step + version - word->first});
    if (word->count > 0) break;
  }
  return parts;
}

std::uint64_t Audit::contributions(const Slice& slice, std::size_t contributor) {
  std::uint64_t count = 0;
  for (const Word& word : slice.words)
    count += static_cast<std::uint64_t>(std::ranges::count(word.parts, contributor, &Audit::Part::contributor)) *
             std::max<std::uint64_t>(word.count, 1);
  return count;
}

std::uint64_t Audit::dropped_from(const Slice& slice, std::size_t contributor) const {
  return static_cast<std::uint64_t>(std::ranges::count(dropped, contributor, &Audit::Part::contributor) +
                                    std::ranges::count(slice.dropped, contributor, &Audit::Part::contributor));
}

Result<Audit> audit(Disk& disk, const std::string& folder, std::int64_t servers_per_group) {
  Audit audit;
  DLHOST_ASSIGN(auto readers, read_all(disk, folder));
  for (auto& [server, reader] : readers) reader.add_to(audit);
  if (audit.contributors == 0)
    return Status::not_found(
        "'", folder,
        "' holds no ledger: one worker alone keeps none (each step's samples make each version), nor do several whose "
        "devices sum gradients (topology.copy = \"none\"), or with record.ledger = false");
  std::ranges::stable_sort(audit.slices, {}, &Audit::Slice::id); // of server groups one after another
  std::ranges::sort(audit.dropped);                              // all servers of a group hear of each
  audit.dropped.erase(std::unique(audit.dropped.begin(), audit.dropped.end()), audit.dropped.end());
  look_for_doubles(audit);
  look_for_second_owners(audit, static_cast<std::uint32_t>(servers_per_group));
  return audit;
}

Status verdict(std::span<const std::string> faults) {
  if (faults.empty()) return {};
  constexpr std::size_t most = 20;
  std::string text = concat(faults.size(), " faults:");
  for (std::size_t i = 0; i < std::min(most, faults.size()); ++i) text += "\n  " + faults[i];
  if (faults.size() > most) text += concat("\n  and ", faults.size() - most, " more");
  return Status::corrupt(text);
}

} // namespace dlhost::run
