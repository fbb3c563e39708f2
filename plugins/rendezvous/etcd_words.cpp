#include "etcd_words.h"

namespace dlhost::plugins::rendezvous {

std::string words_of(const Json& json, std::string_view name, std::size_t longest) {
  const Json& found = field(json, name);
  return found.is_string() ? found.get_ref<const std::string&>().substr(0, longest) : std::string();
}

// Bytes that are not UTF-8 are replaced.
std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

const Json& kvs(const Json& answer, std::size_t at) {
  const Json& all = field(answer, "responses");
  static const Json nothing;
  return all.is_array() && at < all.size() ? field(field(all[at], "response_range"), "kvs") : nothing;
}

const Json& first(const Json& found) {
  static const Json nothing;
  return found.is_array() && !found.empty() ? found.front() : nothing;
}

std::int64_t revision_of(const Json& answer) { return number_of(field(field(answer, "header"), "revision")); }
bool succeeded(const Json& answer) { return field(answer, "succeeded") == true; }

Json range(const std::string& key) { return {{"request_range", {{"key", base64(key)}}}}; }
Json range_all(const std::string& prefix) {
  return {{"request_range", {{"key", base64(prefix)}, {"range_end", base64(after(prefix))}}}};
}
Json put_in(const std::string& key, std::string_view value, std::int64_t lease) {
  return {{"request_put", {{"key", base64(key)}, {"value", base64(value)}, {"lease", std::to_string(lease)}}}};
}
Json created_at(const std::string& key, std::int64_t revision) {
  return {
      {"key", base64(key)}, {"target", "CREATE"}, {"result", "EQUAL"}, {"create_revision", std::to_string(revision)}};
}
Json modified_at(const std::string& key, std::int64_t revision) {
  return {{"key", base64(key)}, {"target", "MOD"}, {"result", "EQUAL"}, {"mod_revision", std::to_string(revision)}};
}
// True if no key has the prefix: all of none were created at revision 0.
Json none_under(const std::string& prefix) {
  Json none = created_at(prefix, 0);
  none["range_end"] = base64(after(prefix));
  return none;
}

Status allowed(std::string_view key, std::string_view value) {
  if (key.empty() || key.size() > Session::largest_key)
    return Status::invalid("etcd: a key of ", key.size(), " bytes; it has 1 to ", Session::largest_key);
  if (value.size() > Session::largest_value)
    return Status::invalid("etcd: a value of ", value.size(), " bytes under '", key, "'; at most ",
                           Session::largest_value);
  return {};
}

double in_seconds(Nanoseconds time) { return static_cast<double>(time / 1'000'000) / 1e3; }

} // namespace dlhost::plugins::rendezvous
