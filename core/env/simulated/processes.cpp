#include "env/simulated/processes.h"

#include <algorithm>
#include <memory>

namespace dlhost::env::simulated {

class SimulatedProcesses::Held final : public Processes::Lock {
 public:
  Held(SimulatedProcesses& all, std::size_t number) : all_(all), number_(number), process_(all.held_[number].process) {}
  ~Held() override {
    if (int& holder = all_.held_[number_].process; holder == process_) holder = 0;
  }
  Result<int> hand_over() override { return static_cast<int>(number_); }

 private:
  SimulatedProcesses& all_;
  const std::size_t number_;
  const int process_;
};

bool SimulatedProcesses::kill(int process) {
  if (!runs(process)) return false;
  world_.kill(process);
  return true;
}

std::unique_ptr<Processes::Lock> SimulatedProcesses::held(std::size_t number) {
  return std::make_unique<Held>(*this, number);
}

Result<std::unique_ptr<Processes::Lock>> SimulatedProcesses::lock(const std::string& path) {
  if (!world_.lives()) return Status::io("cannot lock ", path, ": this process was killed");
  auto holder = std::ranges::find(held_, path, &Holder::path);
  if (holder == held_.end()) holder = held_.insert(held_.end(), {path, 0});
  if (holder->process > 0 && world_.lives(holder->process)) return std::unique_ptr<Lock>();
  holder->process = own();
  return held(static_cast<std::size_t>(holder - held_.begin()));
}

Result<std::unique_ptr<Processes::Lock>> SimulatedProcesses::adopt(int handed_over, const std::string& path) {
  const auto number = static_cast<std::size_t>(handed_over);
  if (number >= held_.size() || held_[number].path != path || held_[number].process != own())
    return Status::internal("the lock ", path, " was not handed over to process ", own());
  return held(number);
}

} // namespace dlhost::env::simulated
