// Finds plugin files, decides which may be used, and reads what they provide. Reads headers and stamps only; loads
// nothing.
//
// The folders, first to last: every --plugin-dir, DLHOST_PLUGIN_PATH, the user's data home, the install's plugin
// folder. Never the working directory, never a path from a job file. An earlier folder overrides a later one.
//
// Refuses files and folders (and the targets of their links) that other users can change: owned by none of root, the
// user and the owner of the dlhost binary; or writable by others, or by a group that is not the owner's own.
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

// A folder of the search.
struct SearchEntry {
  std::string path;
  std::string origin; // "--plugin-dir", "DLHOST_PLUGIN_PATH", "the user's data home", "the install"
};

// The settings of the search, read from the process once.
struct SearchSettings {
  std::vector<std::string> plugin_dirs; // --plugin-dir, in order
  std::string plugin_path;              // DLHOST_PLUGIN_PATH
  std::string data_home;                // the folder above dlhost/plugins; empty: none
  std::string install_folder;           // empty: none
  std::string program_folder;           // the folder of this program
};
// Reads the environment and this program's path.
SearchSettings settings_of_process(std::vector<std::string> plugin_dirs = {});
std::vector<SearchEntry> entries_of(const SearchSettings&);

// A file that looks like a plugin, usable or not.
struct Candidate {
  std::string path;
  std::size_t entry = 0;             // index into Catalogue::entries
  std::optional<FileStamp> stamp;    // none: unreadable
  std::vector<std::string> problems; // if any: the file is refused
  std::vector<std::string> warnings;

  bool usable() const { return problems.empty(); }
  bool provides(const Product&) const;
};

struct Catalogue {
  struct Entry {
    SearchEntry where;
    bool exists = false;
    std::vector<std::string> problems; // if any: no file in it is used
  };
  std::vector<Entry> entries;
  std::vector<Candidate> candidates; // by entry, then by name
};

Catalogue search(std::span<const SearchEntry>, const HostTraits& = this_host());
// One file, examined as in a search.
Candidate examine(const std::string& path, const HostTraits& = this_host());

// The users besides root that may own plugins: the user and the owner of this program's file.
struct Trusted {
  std::uint32_t user = 0;
  std::uint32_t program_owner = 0;
};
Trusted trusted_by_process();
// The problems with a path's owner and permissions; follows links and checks each. Empty: none.
std::vector<std::string> permission_problems(const std::string& path, const Trusted&);

// "a; b"
std::string joined(const std::vector<std::string>& reasons);

// The folders of a search, each with its origin and why it is not used. `everywhere`: also folders that do not exist.
std::string looked_in(const Catalogue&, bool everywhere);

// Errors: no plugin file was found at all; the message says where the search looked, and what to do.
Status any_found(const Catalogue&);

} // namespace dlhost::plugin
