#include <dlhost/plugin.h>

#include "endpoint.h"

namespace dlhost::plugins::shm {

class Shm final : public Transport {
 public:
  static constexpr std::string_view name = "shm";
  struct Options {
    std::int64_t parts = 512, large = 32;
    std::int64_t part_bytes = 16384;
  };
  static Schema schema() {
    return SchemaOf<Options>("Shared memory between processes of one machine: a ring for each pair and direction.")
        .option("parts", &Options::parts, "parts of a ring; a message takes one or more", between(4, 65536))
        .option("large", &Options::large, "parts of more than 96 bytes that a ring has room for", between(4, 4096))
        .option("part_bytes", &Options::part_bytes, "bytes of a part; large messages are copied in and out by parts",
                between(256, 1 << 24));
  }
  explicit Shm(const Options& options)
      : shape_{static_cast<std::uint32_t>(options.parts), static_cast<std::uint32_t>(options.large),
               static_cast<std::uint32_t>((options.part_bytes + 63) / 64 * 64)} {}

  Capabilities capabilities() const override {
    return {.maps = true, .one_sided = true, .reports_gone = true, .largest_message = largest_message, .alignment = 64};
  }
  Result<std::unique_ptr<Endpoint>> open(Host& host, const Opening& opening) override {
    return ShmEndpoint::open(host, opening.name, shape_); // other users have no access, so no secret is needed
  }

 private:
  RingShape shape_;
};

} // namespace dlhost::plugins::shm

DLHOST_PLUGIN("1.0", dlhost::plugins::shm::Shm);
