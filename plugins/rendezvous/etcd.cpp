// Members meet in etcd, which outlives each of them.
#include <dlhost/plugin.h>

#include <algorithm>

#include "etcd_session.h"

namespace dlhost::plugins::rendezvous {

class Etcd final : public Rendezvous {
 public:
  static constexpr std::string_view name = "etcd";
  struct Options {
    std::vector<std::string> endpoints{"http://127.0.0.1:2379"};
    std::string job = "dlhost", ca, certificate, key;
    std::int64_t members = 0, lease = 10;
    double patience = 2;
  };
  static Schema schema() {
    return SchemaOf<Options>(
               "Members meet in etcd (3.4 or newer, its JSON gateway): they may come and go, and any may die.")
        .option("endpoints", &Options::endpoints, "of etcd, each as http://HOST:PORT or https://HOST:PORT")
        .option("job", &Options::job,
                "the job's name in etcd: one for all members of a job, another for each job at the same time")
        .option("members", &Options::members, "number of members to wait for; 0: do not wait", between(0, 100000))
        .option("lease", &Options::lease, "seconds without a message to etcd after which a member is out",
                between(2, 3600))
        .option("patience", &Options::patience, "seconds that an endpoint is given to answer before the next is asked",
                between(0.1, 60))
        .option("ca", &Options::ca,
                "file of the authority that etcd's certificate is checked against; empty: the system's")
        .option("certificate", &Options::certificate, "file of this user's certificate, where etcd asks for one")
        .option("key", &Options::key, "file of that certificate's key");
  }
  explicit Etcd(Options options) : options_(std::move(options)) {}

  Capabilities capabilities() const override {
    return {.elastic = true, .survives_founder = true, .hands_over_secret = true};
  }
  bool detected(Host&) const override { return false; }

  Result<std::unique_ptr<Session>> join(Host& host, const Joining& who, Nanoseconds limit) override {
    DLHOST_TRY(check());
    Joining asked = who;
    if (asked.expected == 0) asked.expected = static_cast<std::uint32_t>(options_.members);
    return EtcdSession::join(host,
                             {.gateway = {.endpoints = options_.endpoints,
                                          .ca = options_.ca,
                                          .certificate = options_.certificate,
                                          .key = options_.key,
                                          .patience = static_cast<Nanoseconds>(options_.patience * 1e9)},
                              .job = options_.job,
                              .lease = options_.lease},
                             asked, limit);
  }

 private:
  Status check() const {
    if (options_.endpoints.empty()) return Status::invalid("etcd: `endpoints` is empty; give http://HOST:PORT");
    for (const auto& one : options_.endpoints)
      if (!one.starts_with("http://") && !one.starts_with("https://"))
        return Status::invalid("etcd: '", one, "' is not an endpoint; give http://HOST:PORT");
    const auto plain = [](unsigned char c) { return c > ' ' && c != '/' && c < 0x7F; };
    if (options_.job.empty() || options_.job.size() > 128 || !std::ranges::all_of(options_.job, plain))
      return Status::invalid("etcd: '", options_.job,
                             "' is not a job's name: 1 to 128 characters, neither spaces nor '/'");
    return {};
  }

  Options options_;
};

namespace {

Status begin(Host&) {
  if (curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) return {};
  return Status::internal("libcurl does not start");
}
void end() noexcept { curl_global_cleanup(); }

} // namespace
} // namespace dlhost::plugins::rendezvous

DLHOST_PLUGIN_WITH("1.0", dlhost::plugins::rendezvous::begin, dlhost::plugins::rendezvous::end,
                   dlhost::plugins::rendezvous::Etcd);
