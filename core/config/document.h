// Parses TOML text into tables whose values know their place. The only user of the TOML library.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <dlhost/schema.h>

#include "config/problems.h"

namespace dlhost::config {

// `name`: the file's name in messages. Returns the readable part even if there are problems.
Table parse_document(std::string_view text, const std::string& name, Problems&);

// Parses an override's value as TOML; a bare word is a text.
Value parse_value(const std::string& text, const Location& where, Problems&);

} // namespace dlhost::config
