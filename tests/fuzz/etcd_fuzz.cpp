// Reads any bytes as etcd's answer: without trust, and without an exception.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "gateway.h"

using namespace dlhost::plugins::rendezvous;

namespace {

void look_at(const Json& json, int depth) {
  number_of(json);
  const std::string bytes = bytes_of(json);
  if (!bytes.empty() && bytes_of(Json(base64(bytes))) != bytes) std::abort();
  for (const char* name : {"kv", "kvs", "key", "value", "events", "header", "revision", "type", "responses"})
    field(json, name);
  if (depth > 0 && json.is_structured())
    for (const Json& one : json) look_at(one, depth - 1);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  look_at(Json::parse(text, nullptr, false), 8);
  if (bytes_of(Json(base64(text))) != text) std::abort();
  const std::string end = after(text);
  if (end != std::string(1, '\0') && end <= text) std::abort();
  return 0;
}
