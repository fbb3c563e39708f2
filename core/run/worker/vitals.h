// What a worker shows of itself while it works, in memory that all of a run see: it alone writes, and whoever waits for
// it, or watches the run, reads.
#pragma once

#include <atomic>
#include <cstdint>

#include <dlhost/host.h>
#include <dlhost/message.h>

#include "param/server/arrivals.h"
#include "record/traffic.h"
#include "run/worker/awaited.h"

namespace dlhost::run {

// Of a worker's steps so far, and the parts of it that it did not compute.
struct StepTimes {
  Nanoseconds all = 0;
  Nanoseconds input = 0;   // waited for data, or read it
  Nanoseconds params = 0;  // brought params and gradients into the form that is wanted: working copies, codecs
  Nanoseconds serving = 0; // was a server: sums of contributions, updates, answers
  Nanoseconds waiting = 0; // for others, with nothing to serve
};

struct alignas(64) Vitals {
  std::atomic<std::uint64_t> beats{0}; // grows as long as it gets on, or looks whether it could
  std::atomic<std::uint64_t> steps{0}; // done
  std::atomic<std::uint64_t> told{0};  // the run's leader's: steps that it has dealt with, evaluations and all
  std::atomic<bool> retired{false};    // computes and serves no more
  std::atomic<Awaited> awaits{};       // as of its last beat
  std::atomic<Version> read{0};        // of the first slice: what it computes with
  std::atomic<Version> made{0};        // by the server beside it, of that one's first slice
  std::atomic<bool> away{true};        // at what may take long without a beat: it prepares, evaluates or saves
  std::atomic<Nanoseconds> all{0}, input{0}, params{0}, serving{0}, waiting{0}; // StepTimes
  std::atomic<std::uint64_t> came{0}, late{0};                                  // Arrivals, at the server beside it
  std::atomic<std::uint64_t> own_bytes{0}, lent_bytes{0}; // memory: its process' alone at most; shared, made by it
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
