// etcd's JSON gateway: requests over HTTP to one of several endpoints, and to the next if one does not answer, until a
// limit. Thread: several at once.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <curl/curl.h>
#include <nlohmann/json.hpp>

#include <dlhost/host.h>
#include <dlhost/status.h>

namespace dlhost::plugins::rendezvous {

using Json = nlohmann::json;

// Reads etcd's untrusted answers: a missing or mistyped value counts as empty.
const Json& field(const Json&, std::string_view name);
std::int64_t number_of(const Json&); // etcd writes numbers as text
std::string bytes_of(const Json&);   // from base64
std::string base64(std::string_view bytes);
// The first key after all keys with this prefix: the end of a range.
std::string after(std::string prefix);

struct GatewaySetup {
  std::vector<std::string> endpoints; // "http://10.0.0.1:2379"
  std::string ca, certificate, key;   // files, for https
  Nanoseconds patience = 0;           // time for one endpoint, before the next is asked
};

struct CloseHandle {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
using Handle = std::unique_ptr<CURL, CloseHandle>;
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Headers = std::unique_ptr<curl_slist, FreeList>;

class Gateway {
 public:
  Gateway(Host& host, GatewaySetup setup) : host_(host), setup_(std::move(setup)) {}

  // `again`, unless null: set if the request may have been executed before without an answer.
  Result<Json> ask(std::string_view path, const Json& question, Nanoseconds end, bool* again = nullptr);
  std::string names() const; // of all endpoints

  // The endpoint in use. turn_from() moves to the next, unless another call has done so.
  std::size_t turn() const { return at_; }
  void turn_from(std::size_t turn) { at_.compare_exchange_strong(turn, turn + 1); }
  std::string url(std::size_t turn, std::string_view path) const;
  void prepare(CURL*, const std::string& url, const Headers&) const;
  static Headers headers();

 private:
  struct Answer {
    CURLcode code = CURLE_OK;
    long status = 0;
    std::string text, problem;
  };
  Answer try_once(CURL*, const std::string& url, const std::string& question, Nanoseconds limit) const;

  Host& host_;
  const GatewaySetup setup_;
  std::atomic<std::size_t> at_{0}; // counts on, modulo the number of endpoints
};

} // namespace dlhost::plugins::rendezvous
