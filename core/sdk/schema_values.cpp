// Reads options' values into C++ and writes them as in a job file.
#include <dlhost/schema.h>

#include <cmath>

namespace dlhost::detail {

std::string written(bool value) { return value ? "true" : "false"; }
std::string written(std::int64_t value) { return concat(value); }

std::string written(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = concat(value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string written(const std::string& value) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string text = "\"";
  for (char letter : value) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\')
      text += {'\\', letter};
    else if (letter == '\n')
      text += "\\n";
    else if (letter == '\t')
      text += "\\t";
    else if (byte < 0x20 || byte == 0x7f)
      text += {'\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15]};
    else
      text += letter;
  }
  return text + '"';
}

std::string written_key(const std::string& key) {
  static constexpr std::string_view bare = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  return !key.empty() && key.find_first_not_of(bare) == std::string::npos ? key : written(key);
}

std::string written(const Table& table) {
  std::string text = "{";
  for (const auto& [key, value] : table.entries)
    text += concat(text.size() > 1 ? ", " : " ", written_key(key), " = ", written(value));
  return text + (text.size() > 1 ? " }" : "}");
}

std::string written(const Value& value) {
  struct Writer {
    std::string operator()(std::monostate) const { return "\"\""; }
    std::string operator()(bool item) const { return written(item); }
    std::string operator()(std::int64_t item) const { return written(item); }
    std::string operator()(double item) const { return written(item); }
    std::string operator()(const std::string& item) const { return written(item); }
    std::string operator()(const List& item) const { return written(item); }
    std::string operator()(const Table& item) const { return written(item); }
  };
  return std::visit(Writer{}, value.data);
}

std::string written(const Part& part) {
  if (part.type.empty()) return {};
  if (part.options.entries.empty()) return written(part.type);
  Table whole;
  whole.entries.emplace_back("type", Value{part.type, {}});
  whole.entries.insert(whole.entries.end(), part.options.entries.begin(), part.options.entries.end());
  return written(whole);
}

void read(const Value& value, bool& into) { into = std::get<bool>(value.data); }
void read(const Value& value, std::int64_t& into) { into = std::get<std::int64_t>(value.data); }
void read(const Value& value, double& into) { into = std::get<double>(value.data); }
void read(const Value& value, std::string& into) { into = std::get<std::string>(value.data); }
void read(const Value& value, Table& into) { into = std::get<Table>(value.data); }

void read(const Value& value, Part& into) {
  const auto& table = std::get<Table>(value.data);
  into = {};
  into.options.where = table.where;
  for (const auto& entry : table.entries)
    if (entry.first == "type")
      into.type = std::get<std::string>(entry.second.data);
    else
      into.options.entries.push_back(entry);
}

namespace {

template <class T> void read_list(const Value& value, std::vector<T>& into) {
  into.clear();
  for (const auto& item : std::get<List>(value.data)) read(item, into.emplace_back());
}

} // namespace

void read(const Value& value, std::vector<std::int64_t>& into) { read_list(value, into); }
void read(const Value& value, std::vector<double>& into) { read_list(value, into); }
void read(const Value& value, std::vector<std::string>& into) { read_list(value, into); }
void read(const Value& value, std::vector<Part>& into) { read_list(value, into); }

} // namespace dlhost::detail
