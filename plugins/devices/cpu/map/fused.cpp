#include "fused.h"

#ifdef DLHOST_XBYAK

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <vector>

#include <xbyak/xbyak.h>

#include "kernels.h"

namespace dlhost::plugins::cpu {

namespace {

using Xbyak::Reg64;
using Xbyak::Xmm;
using Xbyak::Ymm;
using Xbyak::Zmm;

constexpr int same_bytes = widest * static_cast<int>(sizeof(float));
// Comparison predicates that do not signal for NaN, like those of the kernels.
constexpr std::uint8_t less = 0x11, greater_than = 0x1E, unequal = 0x04;

bool is_one_instruction(Code code) {
  switch (code) {
  case Code::add:
  case Code::subtract:
  case Code::multiply:
  case Code::divide:
  case Code::minimum:
  case Code::maximum:
  case Code::greater:
  case Code::select:
  case Code::copy:
  case Code::square_root:
  case Code::multiply_add:
  case Code::multiply_subtract:
  case Code::negated_multiply: return true;
  default: return false;
  }
}

// For AVX-512 (Zmm), or for AVX2 (Ymm) with half as many registers, which also hold masks. System V calling convention:
// the argument is in rdi; rbx, rbp and r12 to r15 must be preserved.
template <class Vector> class Generator final : public Xbyak::CodeGenerator, public Fused {
 public:
  static constexpr std::int64_t lanes = std::is_same_v<Vector, Zmm> ? 16 : 8;

  explicit Generator(const Program& program) : CodeGenerator(Xbyak::DEFAULT_MAX_CODE_SIZE, Xbyak::AutoGrow) {
    if (!find_places(program)) return;
    for (const auto& one : saved) push(one);
    load_pointers(program);
    load_same();
    write_loop(program);
    for (auto one = saved.rbegin(); one != saved.rend(); ++one) pop(*one);
    vzeroupper();
    ret();
    readyRE(); // the code is only executed from here on
    code_ = getCode<void (*)(const Arguments*)>();
  }
  bool is_made() const { return code_ != nullptr; }
  void run(const Arguments& arguments) const override { code_(&arguments); }

 private:
  static constexpr int none = -1;
  static constexpr bool has_masks = std::is_same_v<Vector, Zmm>;
  static constexpr int registers = has_masks ? 29 : 12; // plus three for a step's operands without a register
  static constexpr int mask = registers + 3;
  struct Leaf { // a leaf of an expression
    Operand operand;
    int number = none; // its register; none: loaded at each use
    int offset = 0;    // in the block of constants
  };

  // Assigns registers: to slots first, then to operands loaded for every vector, then to constants, as far as registers
  // go.
  bool find_places(const Program& program) {
    const auto note = [](std::vector<Leaf>& list, const Operand& operand) {
      if (std::ranges::find(list, operand, &Leaf::operand) == list.end()) list.push_back({.operand = operand});
    };
    bool compares = false;
    for (const Instruction& step : program.instructions) {
      if (!is_one_instruction(step.code)) return false;
      compares = compares || step.code == Code::greater || step.code == Code::select;
      for (const Operand& operand : {step.a, step.b, step.c})
        if (operand.from == Operand::From::input || operand.from == Operand::From::draw)
          note(loaded_, operand);
        else if (operand.from != Operand::From::slot)
          note(same_, operand);
    }
    const int needed = static_cast<int>(program.slots + loaded_.size()) + (compares ? 2 : 0);
    if (loaded_.size() + program.results.size() > pointers.size() || needed > registers) return false;
    int next = static_cast<int>(program.slots);
    for (Leaf& leaf : loaded_) leaf.number = next++;
    if (compares) zero_ = next++, one_ = next++;
    for (Leaf& leaf : same_) {
      leaf.offset = same_bytes * static_cast<int>(program.same(leaf.operand));
      if (next < registers) leaf.number = next++;
    }
    return true;
  }

  void load_pointers(const Program& program) {
    std::size_t next = 0;
    for (const Leaf& leaf : loaded_) {
      const auto& pointer = pointers[next++];
      if (leaf.operand.from == Operand::From::input) {
        mov(pointer, ptr[rdi + offsetof(Arguments, inputs)]);
        mov(pointer, ptr[pointer + leaf.operand.index * sizeof(void*)]);
      } else {
        mov(pointer, ptr[rdi + offsetof(Arguments, draws)]);
        add(pointer, static_cast<std::uint32_t>(leaf.operand.index * chunk * sizeof(float)));
      }
    }
    for (std::size_t result = 0; result < program.results.size(); ++result) {
      const auto& pointer = pointers[next++];
      mov(pointer, ptr[rdi + offsetof(Arguments, results)]);
      mov(pointer, ptr[pointer + result * sizeof(void*)]);
    }
    mov(same, ptr[rdi + offsetof(Arguments, same)]);
    mov(end, ptr[rdi + offsetof(Arguments, bytes)]);
  }

  void load_same() {
    for (const Leaf& leaf : same_)
      if (leaf.number != none) vmovups(Vector(leaf.number), ptr[same + leaf.offset]);
    if (zero_ == none) return;
    mov(at.cvt32(), 0x3f800000);
    if constexpr (has_masks) {
      vpxord(Zmm(zero_), Zmm(zero_), Zmm(zero_));
      vpbroadcastd(Zmm(one_), at.cvt32());
    } else {
      vxorps(Ymm(zero_), Ymm(zero_), Ymm(zero_));
      vmovd(Xmm(one_), at.cvt32());
      vpbroadcastd(Ymm(one_), Xmm(one_));
    }
  }

  void write_loop(const Program& program) {
    Xbyak::Label vector;
    xor_(at.cvt32(), at.cvt32());
    L(vector);
    std::size_t next = 0;
    for (const Leaf& leaf : loaded_) vmovups(Vector(leaf.number), ptr[pointers[next++] + at]);
    for (const Instruction& step : program.instructions) write(step);
    for (const std::uint16_t slot : program.results) vmovups(ptr[pointers[next++] + at], Vector(slot));
    add(at, static_cast<int>(lanes * sizeof(float)));
    cmp(at, end);
    jl(vector, T_NEAR);
  }

  // `which`: the operand's position in the step.
  Vector value(const Operand& operand, int which) {
    if (operand.from == Operand::From::slot) return Vector(operand.index);
    const auto loaded = std::ranges::find(loaded_, operand, &Leaf::operand);
    if (loaded != loaded_.end()) return Vector(loaded->number);
    const auto leaf = std::ranges::find(same_, operand, &Leaf::operand);
    if (leaf->number != none) return Vector(leaf->number);
    vmovups(Vector(registers + which), ptr[same + leaf->offset]);
    return Vector(registers + which);
  }

  void write(const Instruction& step) {
    const Vector a = value(step.a, 0), b = value(step.b, 1), c = value(step.c, 2), to(step.slot);
    switch (step.code) {
    case Code::add: return vaddps(to, a, b);
    case Code::subtract: return vsubps(to, a, b);
    case Code::multiply: return vmulps(to, a, b);
    case Code::divide: return vdivps(to, a, b);
    case Code::square_root: return vsqrtps(to, a);
    case Code::copy: return vmovaps(to, a);
    case Code::minimum: return choose(to, a, b, less);
    case Code::maximum: return choose(to, a, b, greater_than);
    case Code::greater: return one_where_greater(to, a, b);
    case Code::select: return select(to, a, b, c);
    default: break;
    }
    const Vector product(registers); // the register of `a` if it was loaded for this
    if (product.getIdx() != a.getIdx()) vmovaps(product, a);
    if (step.code == Code::multiply_add)
      vfmadd213ps(product, b, c);
    else if (step.code == Code::multiply_subtract)
      vfmsub213ps(product, b, c);
    else
      vfnmadd213ps(product, b, c);
    vmovaps(to, product);
  }
  // NaN wins.
  void choose(const Vector& to, const Vector& a, const Vector& b, std::uint8_t predicate) {
    if constexpr (has_masks) {
      vcmpps(k1, a, b, predicate);
      vcmpps(k2, a, a, unequal);
      korw(k1, k1, k2);
      vblendmps(to | k1, b, a);
    } else {
      const Vector other(registers + 2); // of the third operand, which this step lacks
      vcmpps(Vector(mask), a, b, predicate);
      vcmpps(other, a, a, unequal);
      vorps(Vector(mask), Vector(mask), other);
      vblendvps(to, b, a, Vector(mask));
    }
  }
  void one_where_greater(const Vector& to, const Vector& a, const Vector& b) {
    if constexpr (has_masks) {
      vcmpps(k1, a, b, greater_than);
      vmovaps(to | k1 | T_z, Vector(one_));
    } else {
      vcmpps(Vector(mask), a, b, greater_than);
      vandps(to, Vector(mask), Vector(one_));
    }
  }
  void select(const Vector& to, const Vector& a, const Vector& b, const Vector& c) {
    if constexpr (has_masks) {
      vcmpps(k1, a, Vector(zero_), greater_than);
      vblendmps(to | k1, c, b);
    } else {
      vcmpps(Vector(mask), a, Vector(zero_), greater_than);
      vblendvps(to, c, b, Vector(mask));
    }
  }

  const std::array<Reg64, 6> saved{rbx, rbp, r12, r13, r14, r15};
  const std::array<Reg64, 12> pointers{rdx, rsi, r8, r9, r10, r11, rbx, rbp, r12, r13, r14, r15};
  const Reg64 at{rcx}, end{rdi}, same{rax}; // bytes, bytes, an address
  std::vector<Leaf> loaded_, same_;
  int zero_ = none, one_ = none; // their registers, if there are comparisons
  void (*code_)(const Arguments*) = nullptr;
};

} // namespace

std::unique_ptr<Fused> Fused::make(const Program& program, std::int64_t lanes) {
  const auto made_of = [&]<class Vector>(const Vector&) -> std::unique_ptr<Fused> {
    auto made = std::make_unique<Generator<Vector>>(program);
    return made->is_made() ? std::move(made) : nullptr;
  };
  try {
    if (lanes == Generator<Zmm>::lanes) return made_of(Zmm());
    if (lanes == Generator<Ymm>::lanes) return made_of(Ymm());
  } catch (const Xbyak::Error&) { // no memory, or no executable memory
  }
  return nullptr;
}

} // namespace dlhost::plugins::cpu

#else

namespace dlhost::plugins::cpu {

std::unique_ptr<Fused> Fused::make(const Program&, std::int64_t) { return nullptr; }

} // namespace dlhost::plugins::cpu

#endif
