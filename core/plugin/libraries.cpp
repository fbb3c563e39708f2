#include "plugin/libraries.h"

#include <algorithm>
#include <filesystem>

#include <dlfcn.h>
#include <link.h>
#include <nlohmann/json.hpp>

#include "plugin/elf.h"
#include "plugin/mapped.h"

namespace dlhost::plugin {

using nlohmann::json;

namespace {

// The first number with points in the text: some libraries return a sentence.
std::string text_version(void* function) {
  const std::string text = reinterpret_cast<const char* (*)()>(function)();
  constexpr const char* parts = "0123456789.";
  for (auto at = text.find_first_of("0123456789"); at != std::string::npos; at = text.find_first_of("0123456789", at)) {
    const auto number = text.substr(at, text.find_first_not_of(parts, at) - at);
    if (number.find('.') != std::string::npos) return number;
    at += number.size();
  }
  return text;
}

std::string onednn_version(void* function) {
  struct Version {
    int major, minor, patch;
  };
  const auto* version = reinterpret_cast<const Version* (*)()>(function)();
  return concat(version->major, ".", version->minor, ".", version->patch);
}

std::string fabric_version(void* function) {
  const unsigned version = reinterpret_cast<unsigned (*)()>(function)();
  return concat(version >> 16, ".", version & 0xffff);
}

std::string png_version(void* function) {
  const auto version = reinterpret_cast<std::uint32_t (*)()>(function)();
  return concat(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

std::string lmdb_version(void* function) {
  int major = 0, minor = 0, patch = 0;
  reinterpret_cast<char* (*)(int*, int*, int*)>(function)(&major, &minor, &patch);
  return concat(major, ".", minor, ".", patch);
}

std::string cuda_version(void* function) {
  int version = 0;
  if (reinterpret_cast<int (*)(int*)>(function)(&version) != 0) return "";
  return concat(version / 1000, ".", version % 1000 / 10);
}

struct Known {
  const char* name;
  const char* file;
  const char* function;
  std::string (*version)(void*);
  const char* adds;
};
constexpr Known known_libraries[] = {
    {"oneDNN", "libdnnl.so.3", "dnnl_version", onednn_version, "the cpu device: fast convolutions and products"},
    {"CUDA driver", "libcuda.so.1", "cuDriverGetVersion", cuda_version, "the cuda device"},
    {"libfabric", "libfabric.so.1", "fi_version", fabric_version, "its own shm beside ours in bench transport"},
    {"libsodium", "libsodium.so.23", "sodium_version_string", text_version, "digests of plugins and checkpoints"},
    {"LMDB", "liblmdb.so.0", "mdb_version", lmdb_version, "LMDB data sets"},
    {"libjpeg-turbo", "libturbojpeg.so.0", nullptr, nullptr, "JPEG images"},
    {"libpng", "libpng16.so.16", "png_access_version_number", png_version, "PNG images"},
    {"libzip", "libzip.so.4", "zip_libzip_version", text_version, "npz files in export and import"},
    {"Highway", "libhwy.so.1", nullptr, nullptr, "the cpu device: kernels for each instruction set"},
    {"protobuf", "libprotobuf.so.32", nullptr, nullptr, "event files for TensorBoard"},
    {"zlib", "libz.so.1", "zlibVersion", text_version, "gzipped data sets"},
};

// The folders where plugins look for their libraries (RUNPATH), to find a bundled copy.
std::vector<std::string> folders_of_plugins(const Catalogue& catalogue, const std::string& library) {
  std::vector<std::string> folders;
  for (const auto& candidate : catalogue.candidates) {
    if (!candidate.usable()) continue;
    const auto file = MappedFile::open(candidate.path);
    if (!file.ok()) continue;
    const auto symbols = read_symbols(file->bytes());
    if (!symbols.ok() || std::ranges::find(symbols->needed, library) == symbols->needed.end()) continue;
    std::string_view rest = symbols->run_path;
    while (!rest.empty()) {
      const auto end = std::min(rest.find(':'), rest.size());
      std::string folder(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (const auto origin = folder.find("$ORIGIN"); origin != std::string::npos)
        folder.replace(origin, 7, std::filesystem::path(candidate.path).parent_path().string());
      folders.push_back(std::move(folder));
    }
  }
  return folders;
}

void* open_library(const Catalogue& catalogue, const std::string& library) {
  constexpr int mode = RTLD_LAZY | RTLD_LOCAL;
  for (const auto& folder : folders_of_plugins(catalogue, library))
    if (void* found = dlopen((folder + "/" + library).c_str(), mode)) return found;
  return dlopen(library.c_str(), mode);
}

// The name of the opened file after all links: the only sign of some libraries' version.
std::string file_of(void* opened) {
  link_map* map = nullptr;
  if (dlinfo(opened, RTLD_DI_LINKMAP, &map) != 0) return "";
  return MappedFile::name_of(map->l_name);
}

} // namespace

json describe_libraries(const Catalogue& catalogue) {
  json libraries = json::array();
  for (const auto& known : known_libraries) {
    json library = {{"name", known.name}, {"file", known.file}, {"for", known.adds}};
    void* opened = open_library(catalogue, known.file); // stays open: this process ends soon
    library["found"] = opened != nullptr;
    if (opened) library["lies_in"] = file_of(opened);
    if (void* function = opened && known.function ? dlsym(opened, known.function) : nullptr)
      library["version"] = known.version(function);
    libraries.push_back(std::move(library));
  }
  return libraries;
}

} // namespace dlhost::plugin
