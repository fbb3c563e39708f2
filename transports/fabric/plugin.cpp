#include <dlhost/plugin.h>

#include <sodium.h>

#include "endpoint.h"
#include "survey.h"

namespace dlhost::plugins::fabric {
namespace {

constexpr std::size_t shortest_secret = 16;
constexpr Nanoseconds to_show = 200'000'000; // time to measure a provider

// Default secret: only endpoints of this process know each other.
const Secret& secret_of_process() {
  static const Secret secret = [] {
    Secret made;
    randombytes_buf(made.data(), made.size());
    return made;
  }();
  return secret;
}

Result<Secret> key_from(std::span<const std::byte> secret) {
  if (secret.empty()) return secret_of_process();
  if (secret.size() < shortest_secret)
    return Status::invalid("fabric: a job's secret has at least ", shortest_secret, " bytes, and this one ",
                           secret.size());
  Secret key;
  crypto_generichash(key.data(), key.size(), reinterpret_cast<const unsigned char*>(secret.data()), secret.size(),
                     nullptr, 0);
  return key;
}

} // namespace

class Fabric final : public Transport {
 public:
  static constexpr std::string_view name = "fabric";
  struct Options {
    std::string provider, listen = "127.0.0.1";
    double silence = 10;
  };
  static Schema schema() {
    return SchemaOf<Options>("Networks, by libfabric: messages between reliable datagram endpoints, and memory that "
                             "peers write and read where the provider has that.")
        .option("provider", &Options::provider,
                "of libfabric's: tcp, verbs, efa, shm, net, ...; empty: the best one available")
        .option(
            "listen", &Options::listen,
            "where others connect: an address of this machine, or a network that it has an address in, as 10.0.0.0/8")
        .option("silence", &Options::silence,
                "seconds without a message before the processes of a machine count as gone", between(1, 3600));
  }
  explicit Fabric(const Options& options)
      : setup_{.provider = options.provider,
               .listen = options.listen,
               .silence = static_cast<Nanoseconds>(options.silence * 1e9),
               .secret = {}} {}

  Capabilities capabilities() const override { return FabricEndpoint::capabilities(setup_); }
  Result<std::unique_ptr<Endpoint>> open(Host& host, const Opening& opening) override {
    if (sodium_init() < 0) return Status::internal("libsodium does not start");
    Setup setup = setup_;
    DLHOST_ASSIGN(setup.secret, key_from(opening.secret));
    return FabricEndpoint::open(host, opening.name, setup);
  }
  Result<std::vector<Way>> ways(Host& host) override {
    DLHOST_ASSIGN(const std::string at, meeting::own_address_in(setup_.listen));
    return survey(host, at, to_show);
  }

 private:
  Setup setup_;
};

} // namespace dlhost::plugins::fabric

DLHOST_PLUGIN("1.0", dlhost::plugins::fabric::Fabric);
