// The plugins by which the params of a job are exchanged: consistency handlers (topology.consistency and those of
// single params), the codec, the sync. An instance belongs to one worker.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "config/job.h"
#include "config/problems.h"
#include "param/store/store.h"
#include "param/table/handlers.h"
#include "plan/declared.h"
#include "plugin/registry.h"

namespace dlhost::plan {

template <class T> struct Named {
  std::unique_ptr<T> plugin;            // null: the job has none
  const plugin::Actor* actor = nullptr; // for messages
};

class ExchangePlugins {
 public:
  static Result<ExchangePlugins> make(const config::Job&, plugin::Registry&);
  // Adds the problems. Empty if there are any, or if the job's keys for them were refused before.
  static std::optional<ExchangePlugins> make(const config::Job&, plugin::Registry&, config::Problems&);

  const Declared& declared() const { return declared_; }
  // The declarations of a param's handler.
  const Declared::Handler& of(const param::Param& param) const { return declared_.handlers[number_of(param)]; }
  // The handlers in the form that tables and servers use.
  param::Handlers handlers(const param::Store&) const;
  const Named<Consistency>& job() const { return handlers_.front(); }
  const Named<Codec>& codec() const { return codec_; }
  const Named<Sync>& sync() const { return sync_; }

 private:
  ExchangePlugins() { declared_.handlers.clear(); }
  std::size_t number_of(const param::Param&) const;
  Status add_handler(const Part&, plugin::Registry&, Declared::Handler);
  Status add_codec(const Part&, plugin::Registry&);
  Status add_sync(const Part&, plugin::Registry&);

  Declared declared_;
  std::vector<Named<Consistency>> handlers_; // as in declared_
  Named<Codec> codec_;
  Named<Sync> sync_;
};

} // namespace dlhost::plan
