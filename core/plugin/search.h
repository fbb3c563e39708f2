// Where plugin files lie, which of them may be used at all, and what they say that they provide. Search reads headers
// and stamps only; it loads nothing.
//
// The folders, first to last: every --plugin-dir, DLHOST_PLUGIN_PATH, the user's data home, the install's plugin
// folder. Never the working directory, never a path from a job file. An earlier folder overrides a later one.
//
// Refused are files and folders (and what their links lead to) that somebody else could change: owned by none of root,
// the user and the owner of the dlhost binary; or writable by others, or by a group that is not the owner's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <dlhost/status.h>

#include "plugin/stamp.h"

namespace dlhost::plugin {

// One folder to look in.
struct SearchEntry {
  std::string path;
  std::string origin; // "--plugin-dir", "DLHOST_PLUGIN_PATH", "the user's data home", "the install"
};

// What decides the folders, taken from the process once, at the edge.
struct SearchSettings {
  std::vector<std::string> plugin_dirs; // --plugin-dir, in order
  std::string plugin_path;              // DLHOST_PLUGIN_PATH
  std::string data_home;                // the folder above dlhost/plugins, or empty
  std::string install_folder;           // or empty
  std::string program_folder;           // where this program lies
};
// Reads the environment and the place of this program.
SearchSettings settings_of_process(std::vector<std::string> plugin_dirs = {});
std::vector<SearchEntry> entries_of(const SearchSettings&);

// A file that looks like a plugin, usable or not.
struct Candidate {
  std::string path;
  std::size_t entry = 0;             // index into Catalogue::entries
  std::optional<FileStamp> stamp;    // none when it cannot be read
  std::vector<std::string> problems; // any: it is refused
  std::vector<std::string> warnings;

  bool usable() const { return problems.empty(); }
  bool provides(const Product&) const;
};

struct Catalogue {
  struct Entry {
    SearchEntry where;
    bool exists = false;
    std::vector<std::string> problems; // any: nothing in it is used
  };
  std::vector<Entry> entries;
  std::vector<Candidate> candidates; // by entry, then by name
};

Catalogue search(std::span<const SearchEntry>, const HostTraits& = this_host());
// One file, as a search would see it.
Candidate examine(const std::string& path, const HostTraits& = this_host());

// Who may own plugins besides root: the user and the owner of this program's file.
struct Trusted {
  std::uint32_t user = 0;
  std::uint32_t program_owner = 0;
};
Trusted trusted_by_process();
// What is wrong with who owns a path and who may write to it; links are followed, each looked at. Empty: nothing.
std::vector<std::string> permission_problems(const std::string& path, const Trusted&);

// "a; b"
std::string joined(const std::vector<std::string>& reasons);

// The folders of a search, each with whose it is and why it is not used; those that are not there only where asked for.
std::string looked_in(const Catalogue&, bool everywhere);

// Not ok: no plugin file was found at all; where was searched, and what to do.
Status any_found(const Catalogue&);

} // namespace dlhost::plugin
