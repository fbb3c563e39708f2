// The testing group: evaluates what a run has written down while the run goes on. A task of the leader's process, with
// a net, sources and params of its own; one evaluation after another.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "run/session/evaluation.h"
#include "run/session/progress.h"

namespace dlhost::run {

class Tester {
 public:
  struct Question {
    Progress at;
    std::string checkpoint; // which nobody touches until the answer is there
    bool validates = false, tests = false;
  };
  struct Answer {
    Question question;
    Evaluation validation, test; // of those that were asked for
  };

  Tester(Host&, plugin::Registry&, const config::Job&);
  ~Tester(); // what is not evaluated by then never is

  // Only when the last answer was taken.
  void ask(Question);
  bool is_asked() const { return turn_.load(std::memory_order_acquire) != Turn::nobodys; }
  bool has_answer() const { return turn_.load(std::memory_order_acquire) == Turn::answered; }
  // None: nothing was asked. `waiting` is called several times a second until the answer is there.
  Result<std::optional<Answer>> answer(const std::function<Status()>& waiting);

 private:
  enum class Turn : std::uint8_t { nobodys, asked, answered };

  void work();
  Result<Answer> find(const Question&);

  Host& host_;
  plugin::Registry& registry_;
  const config::Job& job_;
  std::unique_ptr<Session> session_; // the task's
  std::atomic<Turn> turn_{Turn::nobodys};
  std::atomic<bool> stopping_{false};
  Question question_;
  std::optional<Result<Answer>> answer_;
  std::unique_ptr<Waiter> turned_;
  std::unique_ptr<Task> task_;
};

} // namespace dlhost::run
