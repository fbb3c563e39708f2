// JSON as text. The library's parser and writer are templates: this file compiles them once.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace dlhost::env {

// Errors: throws nlohmann::json::parse_error.
nlohmann::json parse_json(std::string_view text);
nlohmann::ordered_json parse_ordered_json(std::string_view text);
// Malformed text gives a discarded value.
nlohmann::json json_or_discarded(std::string_view text);
nlohmann::ordered_json ordered_json_or_discarded(std::string_view text); // keeps the order of keys

// `indent`: spaces per level; -1: all on one line. Invalid UTF-8 is replaced.
std::string json_text(const nlohmann::json&, int indent = -1);
std::string json_text(const nlohmann::ordered_json&, int indent = -1);

} // namespace dlhost::env
