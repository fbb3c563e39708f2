// Why there is no schema for a name: that it is unknown, or what is wrong with the plugin that has it. Beside schema.h,
// for those who check tables; a plugin that only declares its options needs none of it.
#pragma once

#include <string>
#include <string_view>

#include <dlhost/schema.h>

namespace dlhost {

// A source that knows more than that a name is not there.
class DLHOST_API ExplainedSource : public SchemaSource {
 public:
  ~ExplainedSource() override;
  // Of a name for which find() has none: which plugin, what is wrong, what to do.
  virtual std::string why_not(Kind, std::string_view name) = 0;
};

// What the source knows; of one that explains nothing, that the name is unknown, with the known ones and the nearest.
DLHOST_API std::string why_not(SchemaSource&, Kind, std::string_view name);

} // namespace dlhost
