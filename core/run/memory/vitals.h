// The state that a worker publishes while it works, in memory that all workers of the run see. Only the worker writes
// it.
#pragma once

#include <atomic>
#include <cstdint>

#include <dlhost/host.h>
#include <dlhost/message.h>

#include "param/server/arrivals.h"
#include "record/traffic.h"
#include "run/memory/awaited.h"

namespace dlhost::run {

// Time of a worker's steps so far, and the parts of it without computing.
struct StepTimes {
  Nanoseconds all = 0;
  Nanoseconds input = 0;   // waiting for data or reading it
  Nanoseconds params = 0;  // converting params and gradients: working copies, codecs
  Nanoseconds serving = 0; // serving: sums of contributions, updates, answers
  Nanoseconds waiting = 0; // waiting for others, with nothing to serve
};

struct alignas(64) Vitals {
  std::atomic<std::uint64_t> beats{0}; // grows while the worker makes progress or polls
  std::atomic<std::uint64_t> steps{0}; // done
  std::atomic<std::uint64_t> told{0};  // of the run's leader: steps it has dealt with, including evaluations
  std::atomic<bool> retired{false};    // the worker neither computes nor serves any more
  std::atomic<Awaited> awaits{};       // at the last beat
  std::atomic<Version> read{0};        // version of the first slice that it computes with
  std::atomic<Version> made{0};        // version of the first slice of the server beside it
  std::atomic<bool> away{true};        // in a long activity without beats: preparing, evaluating or saving
  std::atomic<Nanoseconds> all{0}, input{0}, params{0}, serving{0}, waiting{0}; // StepTimes
  std::atomic<std::uint64_t> came{0}, late{0};                                  // Arrivals at the server beside it
  std::atomic<std::uint64_t> own_bytes{0}, lent_bytes{0}; // memory: at most its process's own; shared, made by it
  std::atomic<std::uint64_t> sent_params{0}, sent_gradients{0}, sent_state{0}, sent_control{0}; // Freight

  void show(const StepTimes& times) {
    all.store(times.all, std::memory_order_relaxed);
    input.store(times.input, std::memory_order_relaxed);
    params.store(times.params, std::memory_order_relaxed);
    serving.store(times.serving, std::memory_order_relaxed);
    waiting.store(times.waiting, std::memory_order_relaxed);
  }
  void show(const param::Arrivals& arrivals) {
    came.store(arrivals.came, std::memory_order_relaxed);
    late.store(arrivals.late, std::memory_order_relaxed);
  }
  void show(const record::Freight& freight) {
    sent_params.store(freight.params, std::memory_order_relaxed);
    sent_gradients.store(freight.gradients, std::memory_order_relaxed);
    sent_state.store(freight.state, std::memory_order_relaxed);
    sent_control.store(freight.control, std::memory_order_relaxed);
  }
  record::Freight freight() const {
    return {.params = sent_params.load(std::memory_order_relaxed),
            .gradients = sent_gradients.load(std::memory_order_relaxed),
            .state = sent_state.load(std::memory_order_relaxed),
            .control = sent_control.load(std::memory_order_relaxed)};
  }
  param::Arrivals arrivals() const {
    return {.came = came.load(std::memory_order_relaxed), .late = late.load(std::memory_order_relaxed)};
  }
  StepTimes times() const {
    return {.all = all.load(std::memory_order_relaxed),
            .input = input.load(std::memory_order_relaxed),
            .params = params.load(std::memory_order_relaxed),
            .serving = serving.load(std::memory_order_relaxed),
            .waiting = waiting.load(std::memory_order_relaxed)};
  }
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free &&
                  std::atomic<Awaited>::is_always_lock_free,
              "processes share it, and one may be killed at any point");

} // namespace dlhost::run
