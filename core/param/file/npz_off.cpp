// A build without libzip reads and writes no npz files.
#include "param/file/npz.h"

namespace dlhost::param {

const bool npz_built = false;

namespace {
Status missing(const std::string& what) {
  return Status::unsupported(what, ": this dlhost was built without libzip and knows no npz files; use safetensors, or "
                                   "build it again with libzip (./dev setup installs it)");
}
} // namespace

Result<Npz> parse_npz(std::span<const std::byte>, const std::string& what) { return missing(what); }
Status write_npz(Disk&, const std::string& path, std::span<const NamedTensor>) { return missing(path); }

} // namespace dlhost::param
