// TOML text as tables whose values know their place. The only user of the TOML library.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <dlhost/schema.h>

#include "config/problems.h"

namespace dlhost::config {

// `name` is what messages call the file. What could be read is returned even when there are problems.
Table parse_document(std::string_view text, const std::string& name, Problems&);

// The value of one override, as TOML; a bare word is a text.
Value parse_value(const std::string& text, const Location& where, Problems&);

} // namespace dlhost::config
