// Keys that nobody can mean all of: where a table has a thousand keys that core does not know, the rest are taken out
// of it before the schemas see them, which look for the nearest name of each.
#pragma once

#include <string>
#include <vector>

#include <dlhost/schema.h>

#include "config/problems.h"

namespace dlhost::config {

class Crowd {
 public:
  // Takes them out of the tables that options stand in; tables whose keys are names of the user's stay whole.
  explicit Crowd(Table& document);
  // Says that they are unknown: after the schemas, so that those are listed first whose nearest was looked for.
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
