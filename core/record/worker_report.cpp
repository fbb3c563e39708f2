#include "record/worker_report.h"

#include <nlohmann/json.hpp>

namespace dlhost::record {

nlohmann::ordered_json json_of(const WorkerReport& report) {
  return {{"steps", report.steps},
          {"seconds", report.seconds},
          {"computing", report.computing()},
          {"input", report.input},
          {"params", report.params},
          {"serving", report.serving},
          {"waiting", report.waiting},
          {"network",
           {{"params", report.network.params},
            {"gradients", report.network.gradients},
            {"control", report.network.control}}}};
}

} // namespace dlhost::record
