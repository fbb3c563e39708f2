// Adds a difference of values to the master unchanged. It is an updater so that differences use the slices,
// contributions and versions of gradients. Rate, decay and history have no effect.
#pragma once

#include <dlhost/updater.h>

namespace dlhost::param {

class AddRule final : public Updater {
 public:
  Rule rule() const override;
};

} // namespace dlhost::param
