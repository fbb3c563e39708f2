// The files of a ledger, read line by line: what each says stands in the audit as far as it is as it was written.
#include "run/audit_reader.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "env/json_text.h"
#include "param/server/ledger_chain.h"
#include "record/json_fault.h"
#include "run/recovery/ledgers.h"

namespace dlhost::run {
namespace {

using Json = nlohmann::json;

// One server's ledger.
class Reader {
 public:
  explicit Reader(std::uint32_t server) : server_(server) {}

  // Reads what it wrote in that attempt, up to the first line that is not as it was written.
  void read(std::string_view text, const std::string& path, const record::LedgerOf& of) {
    time_ = of.attempt;
    files_.push_back({.path = path, .attempt = of.attempt, .server = server_});
    Audit::File& file = files_.back();
    param::LedgerChain chain;
    while (!text.empty() && file.whole) {
      const auto end = text.find('\n');
      if (end == std::string_view::npos) { // torn by the machine's stop: no checkpoint rests on it
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

  Status take(std::string_view text, param::LedgerChain& chain, const record::LedgerOf& of) {
    if (!chain.takes(text))
      return Status::corrupt(text.find(",\"chain\":\"") == std::string_view::npos
                                 ? "it has no link to the lines before it: it was cut, or another dlhost wrote it"
                                 : "it, or what stands before it, is not as it was written: a line was changed, "
                                   "removed, added or moved; what follows in this file is not looked at");
    try {
      const Json line = env::parse_json(text);
      const bool begins = line.contains("begin"), first = chain.lines() == 1;
      if (begins != (first || line.contains("again")) || (first && line.contains("again")))
        return Status::corrupt("a file has one line that says where it begins, the first, and others where a group "
                               "that was lost goes on (again)");
      return begins ? begin_file(line, of) : this->line(line);
    } catch (const Json::exception& error) {
      return Status::corrupt("it is no line of a ledger: ", record::json_fault(error));
    } catch (const std::exception&) {
      return Status::corrupt("it is no line of a ledger: it names what is not there");
    }
  }

  Status begin_file(const Json& line, const record::LedgerOf& of) {
    const auto is_of = line.value("of", std::string());
    const auto server = line.value("server", std::uint64_t{0});
    if (is_of != record::to_string(of) || server != server_)
      return Status::corrupt("this is server ", server, "'s of ", is_of, ", and lies where that of server ", server_,
                             " of ", record::to_string(of), " (run, arrangement, attempt) was");
    return begin(line);
  }

  Status line(const Json& line) {
    if (!line.contains("slice")) return drop(line.at("dropped").get<std::string>(), dropped_);
    const auto slice = slices_.find(line.at("slice").get<SliceId>());
    if (slice == slices_.end())
      return Status::corrupt("slice ", env::json_text(line.at("slice")), " was not begun with");
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
    std::ranges::move(files_, std::back_inserter(audit.files));
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
    if (steps_.empty() || (contributors_ != 0 && steps_.size() != contributors_))
      return Status::corrupt("it is of ", steps_.size(), " workers, and those before it of ", contributors_);
    contributors_ = steps_.size();
    const bool again = line.contains("again"); // the others went on
    if (!again) ++begun_;
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
                         .steps = steps,
                         .words = {},
                         .dropped = {},
                         .exchanges = {}};
      const auto known = before.find(slice.id);
      if (known != before.end() && same(known->second.slice, slice)) {
        if (known->second.slice.last < begun)
          faults_.push_back(fmt::format("the run begins once more with version {} of slice {} ({}), and those behind "
                                        "version {} are not written down",
                                        begun, slice.id, slice.param, known->second.slice.last));
        if (known->second.slice.begun <= begun) {
          slice.begun = known->second.slice.begun;
          slice.steps = std::move(known->second.slice.steps);
        }
        slice.words = std::move(known->second.slice.words);
        slice.dropped = std::move(known->second.slice.dropped);
        slice.exchanges = std::move(known->second.slice.exchanges);
        cut(slice, begun, steps);
      }
      if (again && !slice.exchanges.empty()) {
        std::erase_if(slice.exchanges.back().heard, [&](const auto& heard) { return heard.version > begun; });
        slices_[slice.id] = {std::move(slice), std::move(steps)};
        continue;
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
  std::vector<param::SampleOrigin> origins_;
  std::vector<Audit::Part> dropped_;
  std::size_t begun_ = 0, time_ = 0, contributors_ = 0;
  std::vector<std::string> faults_;
  std::vector<Audit::File> files_;
  std::string torn_; // the file read last
};

} // namespace

Result<Audit> read_ledger(Disk& disk, const std::string& folder, const record::LedgerOf& of) {
  std::map<std::uint32_t, Reader> readers;
  DLHOST_ASSIGN(const auto attempts, attempts_in(disk, folder));
  for (const std::uint64_t attempt : attempts) {
    const std::string begun = attempt_in(folder, attempt);
    DLHOST_ASSIGN(const auto entries, disk.list(begun));
    for (const auto& entry : entries) {
      const auto server = param::Ledger::server_of(entry.name);
      if (!server) continue;
      const std::string path = concat(begun, "/", entry.name);
      DLHOST_ASSIGN(const auto text, disk.read_text(path));
      Reader& reader = readers.try_emplace(*server, *server).first->second;
      reader.read(text, path, {.run = of.run, .arrangement = of.arrangement, .attempt = attempt});
    }
  }
  Audit audit;
  audit.attempts = attempts;
  for (auto& [server, reader] : readers) reader.add_to(audit);
  std::ranges::stable_sort(audit.files, {}, &Audit::File::attempt);
  return audit;
}

} // namespace dlhost::run
