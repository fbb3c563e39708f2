#include "gunzip.h"

#include <algorithm>
#include <limits>

#include <zlib.h>

namespace dlhost::input {

namespace {

class Inflater {
 public:
  // 16: expects a gzip header.
  Inflater() : ready_(inflateInit2(&stream_, 16 + MAX_WBITS) == Z_OK) {}
  ~Inflater() {
    if (ready_) inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  bool ready() const { return ready_; }
  z_stream* operator->() { return &stream_; }
  z_stream* get() { return &stream_; }

 private:
  z_stream stream_{};
  bool ready_;
};

// zlib counts in 32 bits.
uInt piece(std::size_t bytes) {
  return static_cast<uInt>(std::min<std::size_t>(bytes, std::numeric_limits<uInt>::max()));
}

std::size_t first_guess(std::size_t packed, std::uint64_t limit) {
  return static_cast<std::size_t>(std::min<std::uint64_t>(limit, std::uint64_t{packed} * 4 + 4096));
}

} // namespace

bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

Result<std::vector<std::byte>> gunzip(std::span<const std::byte> packed, std::uint64_t limit) {
  Inflater zlib;
  if (!zlib.ready()) return Status::no_space("zlib has no memory to unpack with");
  std::vector<std::byte> bytes(first_guess(packed.size(), limit));
  std::size_t read = 0, written = 0;
  for (;;) {
    if (written == bytes.size()) {
      if (written >= limit)
        return Status::invalid("unpacks to more than ", limit, " bytes, which is not expected here");
      bytes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(limit, std::uint64_t{written} * 2 + 4096)));
    }
    zlib->next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + read));
    zlib->avail_in = piece(packed.size() - read);
    zlib->next_out = reinterpret_cast<Bytef*>(bytes.data() + written);
    zlib->avail_out = piece(bytes.size() - written);
    const uInt in = zlib->avail_in, out = zlib->avail_out;
    const int status = inflate(zlib.get(), Z_NO_FLUSH);
    read += in - zlib->avail_in;
    written += out - zlib->avail_out;
    if (status == Z_STREAM_END) {
      if (!is_gzip(packed.subspan(read))) break; // bytes after the last member are padding
      inflateReset(zlib.get());
    } else if (status == Z_BUF_ERROR && read == packed.size() && written < bytes.size()) {
      return Status::corrupt("the gzip stream is cut off at byte ", read, "; fetch the file again");
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      return Status::corrupt("damaged gzip data at byte ", read, " (", zlib->msg ? zlib->msg : "zlib error",
                             "); fetch the file again");
    }
  }
  bytes.resize(written);
  return bytes;
}

} // namespace dlhost::input
