#include "gateway.h"

#include <algorithm>
#include <charconv>

#include <sodium.h>

namespace dlhost::plugins::rendezvous {
namespace {

constexpr Nanoseconds one_ms = 1'000'000;
constexpr Nanoseconds pause = 50 * one_ms; // after all endpoints have failed
constexpr std::size_t most_answered = std::size_t{64} << 20;
constexpr int base64_kind = sodium_base64_VARIANT_ORIGINAL;

std::size_t take(char* bytes, std::size_t size, std::size_t count, void* into) {
  auto& text = *static_cast<std::string*>(into);
  if (text.size() + size * count > most_answered) return 0; // ends the transfer
  text.append(bytes, size * count);
  return size * count;
}

// Whether the error is temporary: an etcd without a leader, or during an election.
bool passes(long status, const Json& answer) {
  constexpr std::int64_t deadline = 4, unavailable = 14;
  const std::int64_t code = number_of(field(answer, "code"));
  return status >= 502 || code == deadline || code == unavailable;
}

Status refused(long status, const Json& answer) {
  constexpr std::int64_t not_found = 5, denied = 7, nobody = 16;
  const std::int64_t code = number_of(field(answer, "code"));
  const Json& words = field(answer, "error");
  const std::string text = words.is_string() ? words.get<std::string>() : concat("HTTP status ", status);
  if (code == not_found) return Status::not_found(text);
  if (code == denied || code == nobody || status == 401 || status == 403)
    return Status::invalid("it refuses this user: ", text, "; give certificate and key of a user with access");
  return Status::io("it answers: ", text);
}

} // namespace

const Json& field(const Json& of, std::string_view name) {
  static const Json nothing;
  if (!of.is_object()) return nothing;
  const auto found = of.find(name);
  return found == of.end() ? nothing : *found;
}

std::int64_t number_of(const Json& json) {
  if (json.is_number_integer()) return json.get<std::int64_t>();
  std::int64_t number = 0;
  if (!json.is_string()) return 0;
  const auto& text = json.get_ref<const std::string&>();
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() ? number : 0;
}

std::string bytes_of(const Json& json) {
  if (!json.is_string()) return {};
  const auto& text = json.get_ref<const std::string&>();
  std::string bytes(text.size(), '\0');
  std::size_t size = 0;
  if (sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), text.data(), text.size(), nullptr,
                        &size, nullptr, base64_kind) != 0)
    return {};
  bytes.resize(size);
  return bytes;
}

std::string base64(std::string_view bytes) {
  std::string text(sodium_base64_encoded_len(bytes.size(), base64_kind), '\0');
  sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                    base64_kind);
  text.pop_back(); // the terminating zero
  return text;
}

std::string after(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xFF) prefix.pop_back();
  if (prefix.empty()) return std::string(1, '\0'); // the end of all keys
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

std::string Gateway::names() const {
  std::string all;
  for (const auto& one : setup_.endpoints) all += concat(all.empty() ? "" : ", ", one);
  return all;
}

std::string Gateway::url(std::size_t turn, std::string_view path) const {
  std::string url = setup_.endpoints[turn % setup_.endpoints.size()];
  while (url.ends_with('/')) url.pop_back();
  return concat(url, "/v3/", path);
}

// hasleader: a member without a leader then reports an error; otherwise it would wait.
Headers Gateway::headers() {
  return Headers(
      curl_slist_append(curl_slist_append(nullptr, "Content-Type: application/json"), "Grpc-Metadata-hasleader: true"));
}

void Gateway::prepare(CURL* handle, const std::string& url, const Headers& all) const {
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, all.get());
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPIDLE, 2L);
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPINTVL, 2L);
  if (!setup_.ca.empty()) curl_easy_setopt(handle, CURLOPT_CAINFO, setup_.ca.c_str());
  if (!setup_.certificate.empty()) curl_easy_setopt(handle, CURLOPT_SSLCERT, setup_.certificate.c_str());
  if (!setup_.key.empty()) curl_easy_setopt(handle, CURLOPT_SSLKEY, setup_.key.c_str());
}

Gateway::Answer Gateway::try_once(CURL* handle, const std::string& url, const std::string& question,
                                  Nanoseconds limit) const {
  Answer answer;
  char words[CURL_ERROR_SIZE] = {};
  const Headers all = headers();
  const long ms = std::max(1L, static_cast<long>(limit / one_ms));
  prepare(handle, url, all);
  curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(question.size()));
  curl_easy_setopt(handle, CURLOPT_POSTFIELDS, question.c_str());
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, ms);
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, ms);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, take);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &answer.text);
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, words);
  answer.code = curl_easy_perform(handle);
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &answer.status);
  if (answer.code != CURLE_OK) answer.problem = words[0] != 0 ? words : curl_easy_strerror(answer.code);
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, nullptr);
  return answer;
}

Result<Json> Gateway::ask(std::string_view path, const Json& question, Nanoseconds end, bool* again) {
  const Nanoseconds begin = host_.clock().now();
  const Handle handle(curl_easy_init());
  if (!handle) return Status::no_space("libcurl has no room for a connection");
  const std::string text = question.dump();
  std::string why = "nothing was tried";
  for (std::size_t tries = 1;; ++tries) {
    const Nanoseconds left = end - host_.clock().now();
    if (left <= 0) break;
    const std::size_t at = turn();
    const std::string to = url(at, path);
    const Answer answer = try_once(handle.get(), to, text, std::min(left, setup_.patience));
    if (answer.code == CURLE_OK) {
      Json json = Json::parse(answer.text, nullptr, false);
      if (answer.status == 200 && json.is_object()) return json;
      if (!passes(answer.status, json)) return refused(answer.status, json).at("etcd at ", to);
      const Json& words = field(json, "error");
      why = concat(to, ": ", words.is_string() ? words.get<std::string>() : concat("HTTP status ", answer.status));
    } else {
      why = concat(to, ": ", answer.problem);
    }
    if (again) *again = true;
    turn_from(at);
    if (tries % setup_.endpoints.size() == 0 && host_.clock().now() + pause < end) host_.clock().sleep(pause);
  }
  return Status::timeout("no etcd at ", names(), " has answered in ",
                         static_cast<double>(std::max<Nanoseconds>(0, end - begin) / one_ms) / 1e3, " s: ", why);
}

} // namespace dlhost::plugins::rendezvous
