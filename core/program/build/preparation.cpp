#include "program/build/preparation.h"

#include <algorithm>

namespace dlhost::program {
namespace {

const Epilogue* epilogue_of(const OpSpec& spec) {
  if (const auto* gemm = std::get_if<GemmSpec>(&spec)) return &gemm->epilogue;
  if (const auto* conv = std::get_if<ConvSpec>(&spec)) return &conv->epilogue;
  if (const auto* norm = std::get_if<NormSpec>(&spec)) return &norm->epilogue;
  return nullptr;
}

// Such as "f32:ab f32:AB16b64a > f32:ab".
std::string formats_of(const Op& op, const Device& device) {
  std::string text;
  const auto add = [&](const std::vector<TensorDesc>& descs) {
    for (const auto& desc : descs)
      text += concat(text.empty() ? "" : " ", name_of(desc.dtype), ":", device.format_name(desc));
  };
  add(op.in);
  text += " >";
  add(op.out);
  return text;
}

} // namespace

Preparation::Preparation(Context context, Unit& unit) : context_(std::move(context)), unit_(unit) {
  read_forms = context_.inputs;
  given_forms = context_.outputs;
  if (context_.epilogue.add) read_forms.push_back(context_.addend);
  for (const Shape& shape : unit.part.params) unit.gradient_forms.push_back({DType::f32, shape, {}});
}

bool Preparation::wants_param_gradient(std::size_t i) const {
  return context_.training && !unit_.described->params[i].frozen && !unit_.params.at(i)->factors;
}

Epilogue Preparation::epilogue() { return context_.epilogue; }

Result<std::unique_ptr<Op>> Preparation::op(const OpSpec& spec, Role role) {
  DLHOST_ASSIGN(auto op, context_.device->prepare(spec, {.block_samples = context_.block_samples}));
  note(*op, name_of(spec), role);
  if (const Epilogue* epilogue = epilogue_of(spec); epilogue && !epilogue->empty() && role == Role::feature) {
    epilogue_passed = true;
    epilogue_taken = op->epilogue_taken;
    if (!epilogue_taken) epilogue_remark = op->remark;
  }
  return op;
}

Result<std::unique_ptr<Op>> Preparation::kernel(const KernelSpec& spec, Role role) {
  DLHOST_ASSIGN(auto op, context_.companion.prepare(*context_.device, spec, {.block_samples = context_.block_samples}));
  note(*op, spec.name, role);
  return op;
}

// Notes the op for reports, and for the scratch memory that the layer's ops share.
void Preparation::note(const Op& op, std::string_view spec, Role role) {
  unit_.scratch = std::max(unit_.scratch, op.scratch_bytes);
  double bytes = 0;
  for (const auto* descs : {&op.in, &op.out})
    for (const auto& desc : *descs) bytes += static_cast<double>(context_.device->bytes(desc));
  unit_.ops.push_back(
      {role, std::string(spec), op.kernel, formats_of(op, *context_.device), op.remark, op.operations, bytes});
}

void Preparation::reads(std::size_t input, const TensorDesc& desc) { read_forms.at(input) = desc; }
void Preparation::gives(std::size_t output, const TensorDesc& desc) { given_forms.at(output) = desc; }

std::size_t Preparation::uses(std::size_t param, const TensorDesc& desc) {
  param::Param& used = *unit_.params.at(param);
  const bool eager = context_.training && !used.declared.frozen;
  unit_.uses.push_back({&used, &context_.store->use(used, desc, eager, unit_.param_places.at(param))});
  return unit_.uses.size() - 1;
}

void Preparation::gives_gradient(std::size_t param, const TensorDesc& desc) {
  unit_.gradient_forms.at(param) = desc;
  context_.store->settle(*unit_.params.at(param), desc);
}

std::size_t Preparation::buffer(std::string name, std::size_t bytes, Life life) {
  if (life == Life::carried || life == Life::running)
    misused = concat("buffer '", name, "' of prepare() outlives a pass");
  unit_.buffers.push_back({.name = std::move(name), .bytes = bytes, .life = life});
  return unit_.buffers.size() - 1;
}

} // namespace dlhost::program
