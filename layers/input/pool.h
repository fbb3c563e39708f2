// Objects that tasks borrow for one call and that are worth keeping: decoders with their memory. Makes a new one if
// none is free; no task waits for another.
#pragma once

#include <array>
#include <atomic>
#include <memory>

namespace dlhost::input {

template <class T> class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    for (auto& place : places_) delete place.load();
  }

  class Loan {
   public:
    Loan(Pool& pool, std::unique_ptr<T> object) : pool_(pool), object_(std::move(object)) {}
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    ~Loan() { pool_.take_back(std::move(object_)); }
    T* operator->() const { return object_.get(); }

   private:
    Pool& pool_;
    std::unique_ptr<T> object_;
  };

  Loan borrow() {
    for (auto& place : places_)
      if (T* object = place.exchange(nullptr, std::memory_order_acquire)) return {*this, std::unique_ptr<T>(object)};
    return {*this, std::make_unique<T>()};
  }

 private:
  void take_back(std::unique_ptr<T> object) {
    for (auto& place : places_) {
      T* none = nullptr;
      if (place.compare_exchange_strong(none, object.get(), std::memory_order_release, std::memory_order_relaxed)) {
        (void)object.release();
        return;
      }
    }
  }

  std::array<std::atomic<T*>, 64> places_{};
};

} // namespace dlhost::input
