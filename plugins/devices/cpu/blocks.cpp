#include "blocks.h"

#include <algorithm>

#include <dlhost/parallel.h>

#include "formats.h"
#include "primitive.h"

namespace dlhost::plugins::cpu {
namespace {

// How a tensor of an op relates to samples.
enum class Holds : std::uint8_t { samples, sum, neither };

struct Sides {
  std::vector<Holds> in, out;
};

constexpr std::size_t line = 64;
constexpr std::size_t in_lines(std::size_t bytes) { return (bytes + line - 1) / line * line; }

TensorDesc of_samples(TensorDesc desc, std::int64_t samples) {
  desc.shape[0] = samples;
  return desc;
}

// The number of samples of an op, the same op for fewer samples, and how its tensors relate to samples.
std::int64_t samples_of(const GemmSpec& spec) { return spec.x.shape[0]; }
std::int64_t samples_of(const ConvSpec& spec) { return spec.x.shape[0]; }
std::int64_t samples_of(const GatherSpec& spec) { return spec.indices.shape[0]; }
std::int64_t samples_of(const NormSpec& spec) { return spec.x.shape[0]; }
std::int64_t samples_of(const MapSpec& spec) {
  std::int64_t samples = 1;
  for (const auto* list : {&spec.in, &spec.out})
    for (const auto& desc : *list)
      if (desc.shape.rank() > 0) samples = std::max(samples, desc.shape[0]);
  return samples;
}

template <class Spec> Spec some_of(Spec spec, std::int64_t samples) {
  spec.x = of_samples(spec.x, samples);
  spec.y = of_samples(spec.y, samples);
  return spec;
}
GatherSpec some_of(GatherSpec spec, std::int64_t samples) {
  spec.indices = of_samples(spec.indices, samples);
  spec.y = of_samples(spec.y, samples);
  return spec;
}
MapSpec some_of(MapSpec spec, std::int64_t samples) {
  const std::int64_t all = samples_of(spec);
  for (auto* list : {&spec.in, &spec.out})
    for (auto& desc : *list)
      if (desc.shape.rank() > 0 && desc.shape[0] == all) desc = of_samples(desc, samples);
  return spec;
}

template <class Linear> Sides sides_of(const Linear& spec, const Op& op) {
  if (spec.role == Role::param_gradient)
    return {{Holds::samples, Holds::samples}, std::vector<Holds>(op.out.size(), Holds::sum)};
  Sides sides{std::vector<Holds>(op.in.size(), Holds::neither), {Holds::samples}};
  sides.in.front() = Holds::samples;
  if (spec.epilogue.add && op.epilogue_taken) sides.in.back() = Holds::samples; // the addend
  return sides;
}
Sides sides_of(const GatherSpec&, const Op&) { return {{Holds::samples, Holds::samples}, {Holds::sum}}; }
// For a gradient op.
Sides sides_of(const NormSpec& spec, const Op& op) {
  Sides sides{std::vector<Holds>(op.in.size(), Holds::samples), std::vector<Holds>(op.out.size(), Holds::samples)};
  sides.in[2] = Holds::neither; // the scale
  sides.out[1] = Holds::sum;
  if (spec.kind == NormSpec::Kind::rms) return sides;
  sides.in[3] = Holds::neither; // the shift
  sides.out[2] = Holds::sum;
  return sides;
}
Sides sides_of(const MapSpec& spec, const Op& op) {
  const std::int64_t all = samples_of(spec);
  const auto has_all = [&](const TensorDesc& desc) { return desc.shape.rank() > 0 && desc.shape[0] == all; };
  Sides sides;
  for (std::size_t i = 0; i < op.in.size(); ++i)
    sides.in.push_back(has_all(spec.in[i]) ? Holds::samples : Holds::neither);
  for (std::size_t i = 0; i < op.out.size(); ++i)
    sides.out.push_back(has_all(spec.out[i]) ? Holds::samples : Holds::sum);
  return sides;
}

class InBlocks final : public Op {
 public:
  struct Block {
    std::unique_ptr<Op> op;
    std::int64_t first = 0, samples = 0;
  };

  InBlocks(std::vector<Block> blocks, Sides sides, int threads)
      : blocks_(std::move(blocks)), sides_(std::move(sides)), threads_(threads), streams_(blocks_.size()) {
    const Op& one = *blocks_.front().op;
    const std::int64_t samples = blocks_.back().first + blocks_.back().samples;
    in = one.in;
    out = one.out;
    for (std::size_t i = 0; i < in.size(); ++i) whole(in[i], sides_.in[i], samples);
    for (std::size_t o = 0; o < out.size(); ++o) whole(out[o], sides_.out[o], samples);
    kernel = one.kernel;
    remark = one.remark;
    epilogue_taken = one.epilogue_taken;
    for (Block& block : blocks_) {
      operations += block.op->operations;
      rooms_.push_back(take(block.op->scratch_bytes));
      pointers_.push_back({std::vector<const void*>(in.size()), std::vector<void*>(out.size())});
    }
    for (const auto& desc : in) in_sample_.push_back(bytes_of(desc) / static_cast<std::size_t>(samples));
    for (const auto& desc : out) {
      out_sample_.push_back(bytes_of(desc) / static_cast<std::size_t>(samples));
      elements_.push_back(elements_of(desc));
    }
    partials_.resize(out.size());
    for (std::size_t o = 0; o < out.size(); ++o)
      for (std::size_t b = 1; sides_.out[o] == Holds::sum && b < blocks_.size(); ++b)
        partials_[o].push_back(take(bytes_of(out[o])));
  }

  void execute(Stream& stream, std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch,
               const Dynamic& dynamic) override {
    auto* room = static_cast<std::byte*>(scratch);
    {
      const ThreadScope scope(threads_);
      parallel(static_cast<std::int64_t>(blocks_.size()), [&](std::int64_t b) {
        const ThreadScope alone(1);
        run(static_cast<std::size_t>(b), inputs, outputs, room, dynamic);
      });
      for (std::size_t o = 0; o < outputs.size(); ++o)
        if (!partials_[o].empty()) add_up(o, outputs[o], room);
    }
    for (auto& own : streams_)
      if (Status status = own.wait(); !status.ok()) static_cast<CpuStream&>(stream).fail(std::move(status));
  }

 private:
  struct Pointers {
    std::vector<const void*> in;
    std::vector<void*> out;
  };

  void whole(TensorDesc& desc, Holds holds, std::int64_t samples) const {
    if (holds == Holds::samples) desc.shape[0] = desc.shape[0] / blocks_.front().samples * samples;
  }
  std::size_t take(std::size_t bytes) {
    const std::size_t place = scratch_bytes;
    scratch_bytes += in_lines(bytes);
    return place;
  }

  void run(std::size_t b, std::span<const void* const> inputs, std::span<void* const> outputs, std::byte* room,
           const Dynamic& dynamic) {
    Block& block = blocks_[b];
    auto& pointers = pointers_[b];
    const auto first = static_cast<std::size_t>(block.first);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto* from = static_cast<const std::byte*>(inputs[i]);
      pointers.in[i] = from && sides_.in[i] == Holds::samples ? from + in_sample_[i] * first : from;
    }
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      auto* to = static_cast<std::byte*>(outputs[o]);
      if (sides_.out[o] == Holds::samples) to += out_sample_[o] * first;
      pointers.out[o] = sides_.out[o] == Holds::sum && b > 0 ? room + partials_[o][b - 1] : to;
    }
    Dynamic part = dynamic;
    if (dynamic.valid >= 0) part.valid = std::clamp<std::int64_t>(dynamic.valid - block.first, 0, block.samples);
    if (!dynamic.samples.empty())
      part.samples =
          dynamic.samples.subspan(static_cast<std::size_t>(block.first), static_cast<std::size_t>(block.samples));
    block.op->execute(streams_[b], pointers.in, pointers.out, room + rooms_[b], part);
  }

  // Adds pairwise: neighbours, then their sums, and so on. The first block's part is the result's memory.
  void add_up(std::size_t o, void* result, std::byte* room) {
    constexpr std::int64_t grain = 1 << 12;
    const auto part = [&](std::size_t b) {
      return b == 0 ? static_cast<float*>(result) : reinterpret_cast<float*>(room + partials_[o][b - 1]);
    };
    parallel_ranges(elements_[o], grain, [&](std::int64_t first, std::int64_t last) {
      for (std::size_t step = 1; step < blocks_.size(); step *= 2)
        for (std::size_t b = 0; b + step < blocks_.size(); b += 2 * step) {
          float* sum = part(b);
          const float* other = part(b + step);
          for (std::int64_t i = first; i < last; ++i) sum[i] += other[i];
        }
    });
  }

  std::vector<Block> blocks_;
  const Sides sides_;
  const int threads_;
  std::vector<CpuStream> streams_;                  // one for each block
  std::vector<std::size_t> in_sample_, out_sample_; // bytes of a sample, if a tensor has samples
  std::vector<std::int64_t> elements_;              // of each output
  std::vector<std::size_t> rooms_;                  // each block's offset in the scratch
  std::vector<Pointers> pointers_;                  // one for each block
  std::vector<std::vector<std::size_t>> partials_;  // for each summed output, an offset for each block but the first
};

Status check(const Op& op, const Sides& sides) {
  const auto apart = [](const TensorDesc& desc) {
    return desc.format.is_plain() || !Placement(desc).elements_of_a_sample().empty();
  };
  for (std::size_t i = 0; i < op.in.size(); ++i)
    if (sides.in[i] == Holds::samples && !apart(op.in[i]))
      return Status::unsupported("samples do not lie one after another in ", name_of_format(op.in[i]));
  for (std::size_t o = 0; o < op.out.size(); ++o) {
    if (sides.out[o] == Holds::samples && !apart(op.out[o]))
      return Status::unsupported("samples do not lie one after another in ", name_of_format(op.out[o]));
    if (sides.out[o] == Holds::sum && op.out[o].dtype != DType::f32)
      return Status::unsupported("sums over blocks of samples are made in f32, not in ", name_of(op.out[o].dtype));
  }
  return {};
}

bool same_formats(const Op& one, const Op& other) {
  const auto same = [](const TensorDesc& a, const TensorDesc& b) { return a.format == b.format && a.dtype == b.dtype; };
  return std::ranges::equal(one.in, other.in, same) && std::ranges::equal(one.out, other.out, same);
}

template <class Spec> Prepared made_of_blocks(const Spec& spec, const Request& request, const PrepareOne& one) {
  Request alone = request;
  alone.threads = 1;
  alone.choice.kernel.clear();
  const ThreadScope scope(alone.threads); // oneDNN reads the number of threads when it makes a primitive
  const std::int64_t samples = samples_of(spec), most = request.choice.block_samples;
  std::vector<InBlocks::Block> blocks;
  for (std::int64_t first = 0; first < samples; first += most) {
    const std::int64_t count = std::min(most, samples - first);
    DLHOST_ASSIGN(auto op, one(some_of(spec, count), alone));
    if (op->workspace_bytes > 0) return Status::unsupported("an op with a workspace is not made in blocks of samples");
    if (!blocks.empty() && !same_formats(*blocks.front().op, *op))
      return Status::unsupported("a block of ", count, " samples wants other formats than one of ", most);
    blocks.push_back({std::move(op), first, count});
  }
  Sides sides = sides_of(spec, *blocks.front().op);
  DLHOST_TRY(check(*blocks.front().op, sides));
  return std::unique_ptr<Op>(std::make_unique<InBlocks>(std::move(blocks), std::move(sides), request.threads));
}

bool sums(const MapSpec& spec) { return spec.rows && samples_of(spec) > 1; }

} // namespace

bool depends_on_batch(const OpSpec& spec) {
  if (const auto* gather = std::get_if<GatherSpec>(&spec)) return gather->role == Role::param_gradient;
  if (const auto* map = std::get_if<MapSpec>(&spec)) return sums(*map);
  if (const auto* norm = std::get_if<NormSpec>(&spec))
    return norm->kind == NormSpec::Kind::batch || norm->role != Role::feature;
  return std::holds_alternative<GemmSpec>(spec) || std::holds_alternative<ConvSpec>(spec);
}

Prepared prepare_in_blocks(const OpSpec& spec, const Request& request, const PrepareOne& one) {
  if (const auto* gemm = std::get_if<GemmSpec>(&spec)) return made_of_blocks(*gemm, request, one);
  if (const auto* conv = std::get_if<ConvSpec>(&spec)) return made_of_blocks(*conv, request, one);
  if (const auto* gather = std::get_if<GatherSpec>(&spec)) return made_of_blocks(*gather, request, one);
  if (const auto* norm = std::get_if<NormSpec>(&spec); norm && norm->kind != NormSpec::Kind::batch)
    return made_of_blocks(*norm, request, one);
  if (const auto* map = std::get_if<MapSpec>(&spec); map && !map->expression.draws())
    return made_of_blocks(*map, request, one);
  return Status::unsupported(
      "cpu: ", name_of(spec),
      " does not sum in blocks of samples; run on one worker with a fixed number of threads, or on"
      " the ref device");
}

} // namespace dlhost::plugins::cpu
