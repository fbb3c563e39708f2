#include "record/worker_report.h"

#include <nlohmann/json.hpp>

namespace dlhost::record {

nlohmann::ordered_json json_of(const WorkerReport& report) {
  nlohmann::ordered_json network{{"params", report.network.params},
                                 {"gradients", report.network.gradients},
                                 {"state", report.network.state},
                                 {"control", report.network.control},
                                 {"each_step", nullptr}};
  if (report.each_step)
    network["each_step"] = {{"params", report.each_step->params}, {"gradients", report.each_step->gradients}};
  return {{"steps", report.steps},          {"seconds", report.seconds},     {"computing", report.computing()},
          {"input", report.input},          {"params", report.params},       {"serving", report.serving},
          {"waiting", report.waiting},      {"network", std::move(network)}, {"own_bytes", report.own_bytes},
          {"lent_bytes", report.lent_bytes}};
}

} // namespace dlhost::record
