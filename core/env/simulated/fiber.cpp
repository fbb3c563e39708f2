#include "env/simulated/fiber.h"

#include <cxxabi.h>

#include <boost/context/fiber.hpp>
#include <boost/context/preallocated.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>

#if defined(__SANITIZE_ADDRESS__)
#define DLHOST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DLHOST_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define DLHOST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DLHOST_TSAN 1
#endif
#endif
#ifdef DLHOST_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef DLHOST_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace dlhost::env::simulated {
namespace {

namespace context = boost::context;

// Address space; memory is taken only when touched. Sanitizers make frames several times as large.
#if defined(DLHOST_ASAN) || defined(DLHOST_TSAN)
constexpr std::size_t stack_bytes = std::size_t{16} << 20;
#else
constexpr std::size_t stack_bytes = std::size_t{2} << 20;
#endif

// Functions that never return leave the address sanitizer's marks of their frames, and a file may be mapped there next.
struct Stack : context::protected_fixedsize_stack {
  using Base = context::protected_fixedsize_stack;
  using Base::Base;
  void deallocate(context::stack_context& stack) noexcept {
#ifdef DLHOST_ASAN
    __asan_unpoison_memory_region(static_cast<char*>(stack.sp) - stack.size, stack.size);
#endif
    Base::deallocate(stack);
  }
};

// The C++ runtime's state for each thread, here kept for each side of a switch (Itanium C++ ABI, 2.2.2).
struct ExceptionsInFlight {
  void* caught = nullptr;
  unsigned int uncaught = 0;
};

void exchange(ExceptionsInFlight& other) {
  auto& here = *reinterpret_cast<ExceptionsInFlight*>(abi::__cxa_get_globals());
  std::swap(here, other);
}

// One side of a switch, as the sanitizers see it.
class Side {
 public:
  // Before a switch to `other`. Inlined: the thread sanitizer counts calls and returns on each side.
  [[gnu::always_inline]] void leave_for([[maybe_unused]] Side& other) {
#ifdef DLHOST_ASAN
    __sanitizer_start_switch_fiber(&fake_stack_, other.bottom_, other.size_);
#endif
#ifdef DLHOST_TSAN
    __tsan_switch_to_fiber(other.fiber_, 0);
#endif
  }
  // Before the last switch away from this side. The other side then reports the end to the thread sanitizer, because
  // the caller of this side still returns on it.
  void end_before([[maybe_unused]] Side& other) {
#ifdef DLHOST_ASAN
    __sanitizer_start_switch_fiber(nullptr, other.bottom_, other.size_);
#endif
  }
  [[gnu::always_inline]] void remains_after([[maybe_unused]] Side& ended) {
#ifdef DLHOST_TSAN
    __tsan_switch_to_fiber(fiber_, 0);
    __tsan_destroy_fiber(ended.fiber_);
#endif
  }
  // After a switch from `other`.
  void arrive_from([[maybe_unused]] Side& other) {
#ifdef DLHOST_ASAN
    __sanitizer_finish_switch_fiber(fake_stack_, &other.bottom_, &other.size_);
#endif
  }
  void lie_on([[maybe_unused]] const context::stack_context& stack) {
#ifdef DLHOST_ASAN
    bottom_ = static_cast<const char*>(stack.sp) - stack.size;
    size_ = stack.size;
#endif
#ifdef DLHOST_TSAN
    fiber_ = __tsan_create_fiber(0);
#endif
  }
  void is_this_thread() {
#ifdef DLHOST_TSAN
    fiber_ = __tsan_get_current_fiber();
#endif
  }

 private:
#ifdef DLHOST_ASAN
  void* fake_stack_ = nullptr;
  const void* bottom_ = nullptr;
  std::size_t size_ = 0;
#endif
#ifdef DLHOST_TSAN
  void* fiber_ = nullptr;
#endif
};

} // namespace

struct Fiber::State {
  std::function<void()> body;
  context::fiber inside, outside;
  Side in, out;
  ExceptionsInFlight exceptions; // of the suspended side
  bool begun = false, ended = false;

  void begin() {
    begun = true;
    Stack allocator(stack_bytes);
    const context::stack_context stack = allocator.allocate();
    in.lie_on(stack);
    inside = context::fiber(std::allocator_arg, context::preallocated(stack.sp, stack.size, stack), allocator,
                            [this](context::fiber&& from) {
                              in.arrive_from(out);
                              outside = std::move(from);
                              body();
                              ended = true;
                              in.end_before(out);
                              return std::move(outside);
                            });
  }
};

Fiber::Fiber(std::function<void()> body) : state_(std::make_unique<State>()) { state_->body = std::move(body); }

Fiber::~Fiber() = default;

bool Fiber::ended() const { return state_->ended; }

void Fiber::resume() {
  State& state = *state_;
  if (!state.begun) state.begin();
  state.out.is_this_thread();
  exchange(state.exceptions);
  state.out.leave_for(state.in);
  state.inside = std::move(state.inside).resume();
  state.out.arrive_from(state.in);
  exchange(state.exceptions);
  if (state.ended) state.out.remains_after(state.in);
}

void Fiber::suspend() {
  State& state = *state_;
  state.in.leave_for(state.out);
  state.outside = std::move(state.outside).resume();
  state.in.arrive_from(state.out);
}

} // namespace dlhost::env::simulated
