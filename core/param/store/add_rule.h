// What becomes of a difference of values at the servers: it is added as it is. An updater, so that slices,
// contributions and versions are those of gradients; no rate, decay or history has a part in it.
#pragma once

#include <dlhost/updater.h>

namespace dlhost::param {

class AddRule final : public Updater {
 public:
  Rule rule() const override;
};

} // namespace dlhost::param
