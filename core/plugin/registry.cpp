#include "plugin/registry.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include <dlhost/nearest.h>

#include "env/digest.h"
#include "plugin/mapped.h"

namespace dlhost::plugin {

namespace {

// Whether a file may be the wanted plugin by its name: cube.so or libcube.so for 'cube'. For files without a readable
// stamp.
bool named_after(const Candidate& candidate, std::string_view name) {
  const auto stem = std::filesystem::path(candidate.path).stem().string();
  return stem == name || stem == concat("lib", name);
}

} // namespace

Registry::Registry(std::span<const SearchEntry> entries, Host& host, Nanoseconds limit)
    : host_(host), limit_(limit), catalogue_(search(entries)) {
  report_search();
}

Registry::~Registry() {
  schemas_.clear();
  for (auto library = order_.rbegin(); library != order_.rend(); ++library) libraries_.erase((*library)->path());
}

void Registry::report_search() {
  Log& log = host_.log();
  for (const auto& entry : catalogue_.entries) {
    if (!entry.problems.empty())
      log.write(LogLevel::warning, concat("the plugin folder ", entry.where.path, " (", entry.where.origin,
                                          ") is not used: ", joined(entry.problems)));
    else if (!entry.exists && entry.where.origin == "--plugin-dir")
      log.write(LogLevel::warning, concat("the plugin folder ", entry.where.path, " (--plugin-dir) does not exist"));
  }
}

Result<const Candidate*> Registry::candidate(Kind kind, std::string_view name) const {
  const Product product{kind, std::string(name)};
  const Candidate* chosen = nullptr;
  for (const auto& candidate : catalogue_.candidates) {
    const bool meant = candidate.provides(product) || (!candidate.stamp && named_after(candidate, name));
    if (!meant) continue;
    if (!chosen) {
      chosen = &candidate;
    } else if (candidate.entry != chosen->entry) {
      host_.log().write(LogLevel::info, concat("the ", name_of(kind), " '", name, "' comes from ", chosen->path,
                                               ", which overrides ", candidate.path));
      break;
    } else if (candidate.stamp && chosen->stamp) {
      return Status::exists("two plugins of one folder provide the ", name_of(kind), " '", name, "': ", chosen->path,
                            " and ", candidate.path, "; remove one of them");
    } else if (candidate.stamp) {
      chosen = &candidate; // its stamp names the product; the other matched by file name only
    }
  }
  if (!chosen) return unknown(kind, name);
  if (!chosen->usable()) return Status::invalid(described(*chosen), ": ", joined(chosen->problems));
  return chosen;
}

std::vector<std::string> Registry::known(Kind kind) const {
  std::set<std::string> names;
  for (const auto& candidate : catalogue_.candidates)
    if (candidate.stamp)
      for (const auto& product : candidate.stamp->provides)
        if (product.kind == kind) names.insert(product.name);
  return {names.begin(), names.end()};
}

std::vector<std::string> Registry::names(Kind kind) { return known(kind); }

Status Registry::unknown(Kind kind, std::string_view name) const {
  // A file without a readable stamp may be the wanted plugin, under any name.
  constexpr std::size_t most = 3;
  std::vector<std::string> unread;
  for (const auto& candidate : catalogue_.candidates)
    if (!candidate.stamp && unread.size() < most)
      unread.push_back(concat(candidate.path, " is not used: ", joined(candidate.problems)));
  double number = 0;
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data(), end, number);
  const bool is_number = read.ec == std::errc{} && read.ptr == end && !name.empty();
  return Status::not_found("unknown ", name_of(kind), " '", name, "'; ",
                           is_number ? "a number is written without quotes; " : "", suggestion(name, known(kind)),
                           "; looked in ", looked_in(catalogue_, false), unread.empty() ? "" : "; ", joined(unread));
}

Result<Library*> Registry::library(const Candidate& candidate) {
  if (const auto loaded = libraries_.find(candidate.path); loaded != libraries_.end()) return loaded->second.get();
  if (const auto failure = failed_.find(candidate.path); failure != failed_.end()) return failure->second;
  auto library = Library::load(candidate, host_, limit_);
  if (!library.ok()) {
    failed_.emplace(candidate.path, library.status());
    return std::move(library).status();
  }
  Library* loaded = library->get();
  libraries_.emplace(candidate.path, *std::move(library));
  order_.push_back(loaded);
  return loaded;
}

Result<Registry::Loaded> Registry::loaded(Kind kind, std::string_view name) {
  const std::scoped_lock lock(loading_);
  const Product product{kind, std::string(name)};
  if (const auto known = asked_for_.find(product); known != asked_for_.end()) return known->second;
  DLHOST_ASSIGN(const auto* file, candidate(kind, name));
  DLHOST_ASSIGN(const auto* from, library(*file));
  return asked_for_.emplace(product, Loaded{from->find(product), from}).first->second;
}

std::vector<Registry::Build> Registry::builds() {
  const std::scoped_lock lock(loading_);
  std::vector<Build> builds;
  for (const auto* library : order_) {
    Build& build = builds.emplace_back(Build{library->name(), "", ""});
    const auto from = std::ranges::find(catalogue_.candidates, library->path(), &Candidate::path);
    if (from != catalogue_.candidates.end() && from->stamp) build.version = from->stamp->version;
    build.digest = digest_of(*library);
  }
  std::ranges::sort(builds, {}, &Build::name);
  return builds;
}

// Cached: every checkpoint asks for the digests.
const std::string& Registry::digest_of(const Library& library) {
  const auto [known, is_new] = digests_.try_emplace(&library);
  if (!is_new) return known->second;
  if (const auto file = MappedFile::open(library.path()); file.ok()) known->second = env::digest(file->bytes(), 8);
  return known->second;
}

Result<const Factory*> Registry::factory(Kind kind, std::string_view name) {
  DLHOST_ASSIGN(const auto found, loaded(kind, name));
  return found.factory;
}

Result<const Actor*> Registry::actor(Kind kind, std::string_view name, std::string_view instance) {
  DLHOST_ASSIGN(const auto found, loaded(kind, name));
  return found.library->actor(*found.factory, instance);
}

Result<const Schema*> Registry::schema(Kind kind, std::string_view name) {
  const std::scoped_lock lock(loading_);
  DLHOST_ASSIGN(const auto found, loaded(kind, name));
  if (const auto known = schemas_.find(found.factory); known != schemas_.end()) return &known->second;
  DLHOST_ASSIGN(auto schema, found.library->schema(*found.factory, limit_));
  return &schemas_.emplace(found.factory, std::move(schema)).first->second;
}

Result<std::unique_ptr<Plugin>> Registry::make(Kind kind, std::string_view name, const Table& options) {
  DLHOST_ASSIGN(const auto found, loaded(kind, name));
  return found.library->make(*found.factory, options);
}

const Schema* Registry::find(Kind kind, std::string_view name) {
  const auto found = schema(kind, name);
  return found.ok() ? *found : nullptr;
}

} // namespace dlhost::plugin
