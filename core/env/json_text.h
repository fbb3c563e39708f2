// JSON as text. The library's parser and writer are templates: in one file they are compiled once.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace dlhost::env {

// Of text that is no JSON: throws nlohmann::json::parse_error.
nlohmann::json parse_json(std::string_view text);
nlohmann::ordered_json parse_ordered_json(std::string_view text);
// Of text that is no JSON: a discarded value.
nlohmann::json json_or_discarded(std::string_view text);
nlohmann::ordered_json ordered_json_or_discarded(std::string_view text); // keys stay in their order

// On one line, or on several, indented by so many spaces. Bytes that are no UTF-8 are replaced.
std::string json_text(const nlohmann::json&, int indent = -1);
std::string json_text(const nlohmann::ordered_json&, int indent = -1);

} // namespace dlhost::env
