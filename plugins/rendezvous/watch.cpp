#include "watch.h"

#include <algorithm>

namespace dlhost::plugins::rendezvous {
namespace {

constexpr Nanoseconds after_a_break = 50'000'000;
constexpr std::size_t longest_line = std::size_t{64} << 20;

} // namespace

Watch::Watch(Host& host, Gateway& gateway, std::string prefix, Nanoseconds renewed)
    : host_(host), gateway_(gateway), prefix_(std::move(prefix)), renewed_(renewed), multi_(curl_multi_init()) {}

Watch::~Watch() {
  if (multi_) curl_multi_cleanup(multi_);
}

void Watch::end() {
  ends_ = true;
  if (multi_) curl_multi_wakeup(multi_);
}

void Watch::run(const std::function<std::int64_t()>& next, const std::function<void(const Json&)>& take) {
  while (!ends_ && multi_) {
    const std::size_t at = gateway_.turn();
    if (once(at, next(), take) || ends_) continue;
    gateway_.turn_from(at);
    curl_multi_poll(multi_, nullptr, 0, static_cast<int>(after_a_break / 1'000'000), nullptr);
  }
}

// Each line is a JSON object.
std::size_t Watch::read(char* bytes, std::size_t size, std::size_t count, void* into) {
  auto& stream = *static_cast<Stream*>(into);
  stream.line.append(bytes, size * count);
  for (std::size_t end = 0; (end = stream.line.find('\n')) != std::string::npos; stream.line.erase(0, end + 1)) {
    const Json json =
        Json::parse(stream.line.begin(), stream.line.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    const Json& result = field(json, "result");
    if (!result.is_object()) return stream.over = true, 0; // an error, or not etcd
    stream.heard = true;
    (*stream.take)(result);
    if (field(result, "canceled") == true) return stream.over = true, 0;
  }
  return stream.line.size() > longest_line ? 0 : size * count;
}

bool Watch::once(std::size_t at, std::int64_t from, const std::function<void(const Json&)>& take) {
  const Handle handle(curl_easy_init());
  if (!handle) return false;
  const Headers all = Gateway::headers();
  const std::string url = gateway_.url(at, "watch");
  const std::string question =
      Json{
          {"create_request",
           {{"key", base64(prefix_)}, {"range_end", base64(after(prefix_))}, {"start_revision", std::to_string(from)}}}}
          .dump();
  Stream stream{.line = {}, .take = &take};
  gateway_.prepare(handle.get(), url, all);
  curl_easy_setopt(handle.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(question.size()));
  curl_easy_setopt(handle.get(), CURLOPT_POSTFIELDS, question.c_str());
  curl_easy_setopt(handle.get(), CURLOPT_CONNECTTIMEOUT_MS, 2000L);
  curl_easy_setopt(handle.get(), CURLOPT_WRITEFUNCTION, read);
  curl_easy_setopt(handle.get(), CURLOPT_WRITEDATA, &stream);
  if (curl_multi_add_handle(multi_, handle.get()) != CURLM_OK) return false;
  const Nanoseconds begin = host_.clock().now();
  int running = 1;
  while (!ends_ && running > 0 && host_.clock().now() - begin < renewed_) {
    curl_multi_perform(multi_, &running);
    // The first message, which confirms the watch, comes at once.
    if (!stream.heard && host_.clock().now() - begin > 2'000'000'000) break;
    if (running > 0) curl_multi_poll(multi_, nullptr, 0, 500, nullptr);
  }
  curl_multi_remove_handle(multi_, handle.get());
  return running > 0 && stream.heard;
}

} // namespace dlhost::plugins::rendezvous
