#include "run/coordinator/tester.h"

#include <utility>

#include "param/file/checkpoint.h"

namespace dlhost::run {
namespace {

constexpr Nanoseconds pause_between_looks = 100'000'000;

} // namespace

Tester::Tester(Host& host, plugin::Registry& registry, const config::Job& job)
    : host_(host), registry_(registry), job_(job), turned_(host.tasks().waiter()),
      task_(host.tasks().start("testing group", [this] { work(); })) {}

Tester::~Tester() {
  stopping_ = true;
  turned_->notify_all();
  task_.reset();
}

void Tester::ask(Question question) {
  question_ = std::move(question);
  turn_.store(Turn::asked, std::memory_order_release);
  turned_->notify_all();
}

Result<std::optional<Tester::Answer>> Tester::answer(const std::function<Status()>& waiting) {
  if (!is_asked()) return std::optional<Answer>();
  while (true) {
    const std::uint64_t ticket = turned_->ticket();
    if (has_answer()) break;
    DLHOST_TRY(waiting());
    turned_->wait(ticket, pause_between_looks);
  }
  Result<Answer> answer = *std::exchange(answer_, std::nullopt);
  turn_.store(Turn::nobodys, std::memory_order_release);
  if (!answer.ok()) return std::move(answer).status().at("the testing group");
  return std::optional(*std::move(answer));
}

void Tester::work() {
  while (true) {
    const std::uint64_t ticket = turned_->ticket();
    if (stopping_) return;
    if (turn_.load(std::memory_order_acquire) != Turn::asked) {
      turned_->wait(ticket, 10 * pause_between_looks);
      continue;
    }
    answer_.emplace(find(question_));
    turn_.store(Turn::answered, std::memory_order_release);
    turned_->notify_all();
  }
}

Result<Tester::Answer> Tester::find(const Question& question) {
  if (!session_) {
    DLHOST_ASSIGN(session_, Session::open(host_, registry_, job_, Purpose::reading));
  }
  // The nets declare the params that are then read.
  for (const Phase phase : {Phase::validate, Phase::test})
    if (phase == Phase::validate ? question.validates : question.tests) {
      DLHOST_ASSIGN([[maybe_unused]] auto* net, session_->evaluator(phase));
    }
  DLHOST_ASSIGN(const auto files, param::open_checkpoint(host_.disk(), question.checkpoint));
  DLHOST_TRY(param::read_checkpoint(files, session_->store(), nullptr));
  Answer answer{.question = question, .validation = {}, .test = {}};
  const auto find = [&](Phase phase) {
    return evaluate(*session_, phase, {}, [&](program::Program&, const program::BatchView&) {
      return stopping_ ? Status::cancelled("the run is over") : Status();
    });
  };
  if (question.validates) {
    DLHOST_ASSIGN(answer.validation, find(Phase::validate));
  }
  if (question.tests) {
    DLHOST_ASSIGN(answer.test, find(Phase::test));
  }
  return answer;
}

} // namespace dlhost::run
