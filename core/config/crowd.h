// Unknown keys in large numbers. If a table has a thousand keys that core does not know, the rest are removed before
// the schemas see them, because finding the nearest name for each would take too long.
#pragma once

#include <string>
#include <vector>

#include <dlhost/schema.h>

#include "config/problems.h"

namespace dlhost::config {

class Crowd {
 public:
  // Removes them from tables of options; tables whose keys are user-given names stay whole.
  explicit Crowd(Table& document);
  // Reports them as unknown. Call after the schemas, so that keys with a suggestion are listed first.
  void tell(Problems&) const;

 private:
  void thin(Table&, const std::string& path);
  void thin_items(Table&, const std::string& key);

  struct Key {
    std::string path;
    Location where;
  };
  std::vector<Key> keys_;
};

} // namespace dlhost::config
