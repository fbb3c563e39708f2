#include "conv_plan.h"

#include <algorithm>
#include <optional>

#include "errors.h"
#include "kernels/format.h"

namespace dlhost::plugins::cuda {

namespace {

constexpr std::int64_t most_workspace = std::int64_t{1} << 30;
constexpr std::size_t most_candidates = 8; // most candidates to measure

Status dnn_status(cudnnStatus_t status, std::string_view doing) {
  if (status == CUDNN_STATUS_SUCCESS) return {};
  return Status::unsupported("cuDNN: ", doing, ": ", cudnnGetErrorString(status));
}

cudnnDataType_t dnn_type(DType type) {
  return type == DType::bf16 ? CUDNN_DATA_BFLOAT16 : type == DType::f16 ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT;
}

using Numbers = std::vector<std::int64_t>;

// One spatial axis becomes a picture of one row: cuDNN has two axes or three.
Numbers with_two_axes(Numbers numbers, std::size_t at, std::int64_t otherwise, std::size_t rank) {
  if (rank == 3) numbers.insert(numbers.begin() + static_cast<std::ptrdiff_t>(at), otherwise);
  return numbers;
}

Result<Described> tensor(std::int64_t id, const TensorDesc& desc, DType type) {
  const std::size_t rank = desc.shape.rank();
  const Shape lie = lying(desc);
  Numbers dims(desc.shape.begin(), desc.shape.end()), strides(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) strides[axis] = lie.past(lying_axis(desc, axis) + 1);
  const std::int64_t row = rank == 3 ? strides[2] * dims[2] : 0;
  dims = with_two_axes(std::move(dims), 2, 1, rank);
  strides = with_two_axes(std::move(strides), 2, row, rank);
  const cudnnDataType_t kind = dnn_type(type);
  constexpr std::int64_t alignment = 16; // a view of a larger tensor may start inside it
  const auto count = static_cast<std::int64_t>(dims.size());
  DLHOST_ASSIGN(auto made, Described::make(CUDNN_BACKEND_TENSOR_DESCRIPTOR));
  DLHOST_TRY(made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id));
  DLHOST_TRY(made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &kind));
  DLHOST_TRY(made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment));
  DLHOST_TRY(made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, count, dims.data()));
  DLHOST_TRY(made.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, count, strides.data()));
  DLHOST_TRY(made.finish());
  return made;
}

Result<Described> geometry(const ConvSpec& spec) {
  const std::size_t rank = spec.x.shape.rank();
  const cudnnDataType_t kind = CUDNN_DATA_FLOAT;
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  const auto low = with_two_axes(spec.pad_low, 0, 0, rank), high = with_two_axes(spec.pad_high, 0, 0, rank),
             stride = with_two_axes(spec.stride, 0, 1, rank), dilation = with_two_axes(spec.dilation, 0, 1, rank);
  const auto axes = static_cast<std::int64_t>(low.size());
  DLHOST_ASSIGN(auto made, Described::make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR));
  DLHOST_TRY(made.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &kind));
  DLHOST_TRY(made.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode));
  DLHOST_TRY(made.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &axes));
  DLHOST_TRY(made.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, axes, low.data()));
  DLHOST_TRY(made.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, axes, high.data()));
  DLHOST_TRY(made.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, axes, stride.data()));
  DLHOST_TRY(made.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, axes, dilation.data()));
  DLHOST_TRY(made.finish());
  return made;
}

// The index of the result among the tensors.
std::size_t place_of(Made made) { return made == Made::big ? 0 : made == Made::weights ? 1 : 2; }

// The names for the three operations.
struct Words {
  const char* name;
  cudnnBackendDescriptorType_t node;
  cudnnBackendAttributeName_t convolution, alpha, beta, big, weights, small;
};

const Words& words_of(Made made) {
  static constexpr Words forward{"forward",
                                 CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y};
  static constexpr Words data{"backward data",
                              CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY};
  static constexpr Words filter{"backward filter",
                                CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY};
  return made == Made::small ? forward : made == Made::big ? data : filter;
}

// Whether an engine with these notes may compute it: results must have the same bits in every run, and the errors of no
// other domain.
bool allowed(const std::vector<cudnnBackendNumericalNote_t>& notes, bool exact) {
  return std::ranges::none_of(notes, [exact](cudnnBackendNumericalNote_t note) {
    switch (note) {
    case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
    case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION: return exact;
    case CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP: return false;
    default: return true; // narrower inputs, FFT, Winograd, changing order
    }
  });
}

std::string text_of(const ConvSpec& spec, const ConvPlan::Wanted& wanted) {
  std::string text = concat(words_of(wanted.made).name, wanted.adds ? " adding " : " ", name_of(wanted.type), " ",
                            wanted.exact, " ", spec.transposed);
  for (const auto* desc : {&spec.x, &spec.w, &spec.y})
    text += concat(" ", to_string(desc->shape), name_of_format(*desc));
  for (const auto* list : {&spec.stride, &spec.pad_low, &spec.pad_high, &spec.dilation})
    for (const auto number : *list) text += concat(" ", number);
  return text;
}

} // namespace

Result<Described> Described::make(cudnnBackendDescriptorType_t type) {
  Described made;
  DLHOST_TRY(dnn_status(cudnnBackendCreateDescriptor(type, &made.desc_), "making a description"));
  return made;
}

Described::~Described() {
  if (desc_) (void)cudnnBackendDestroyDescriptor(desc_);
}

Status Described::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                      const void* values) {
  return dnn_status(cudnnBackendSetAttribute(desc_, name, type, count, values), concat("setting attribute ", name));
}

Result<std::int64_t> Described::get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                    std::int64_t most, void* values) const {
  std::int64_t count = 0;
  DLHOST_TRY(dnn_status(cudnnBackendGetAttribute(desc_, name, type, most, &count, values),
                        concat("getting attribute ", name)));
  return count;
}

Status Described::finish() { return dnn_status(cudnnBackendFinalize(desc_), "finishing a description"); }

struct ConvPlan::Candidate {
  Described config;
  std::string kernel;
};

Result<ConvPlan> ConvPlan::make(cudnnHandle_t dnn, Measured* measured, const ConvSpec& spec, const Wanted& wanted) {
  ConvPlan plan;
  plan.made_ = wanted.made;
  DLHOST_TRY(plan.describe(dnn, spec, wanted));
  Wanted one = wanted;
  const std::string text = text_of(spec, wanted);
  if (one.kernel.empty() && measured) one.kernel = measured->find(text).value_or("");
  DLHOST_TRY(plan.choose(dnn, one, measured != nullptr));
  if (measured) measured->note(text, plan.kernel_);
  return plan;
}

Result<ConvPlan> ConvPlan::make_adding(cudnnHandle_t dnn, Measured* measured, const ConvSpec& spec, Wanted wanted) {
  wanted.adds = true;
  const std::string choice = concat(text_of(spec, wanted), ", or apart");
  const auto known = measured ? measured->find(choice) : std::nullopt;
  const Status apart_is_quicker = Status::unsupported("cuDNN: an addition behind another plan is quicker");
  if (wanted.kernel.empty() && known == "apart") return apart_is_quicker;
  DLHOST_ASSIGN(auto plan, make(dnn, measured, spec, wanted));
  DLHOST_TRY(plan.check_adding(dnn));
  if (!wanted.kernel.empty() || !measured || known) return plan;
  wanted.adds = false;
  auto apart = make(dnn, measured, spec, wanted);
  bool adds = true;
  if (apart.ok()) {
    DLHOST_ASSIGN(adds, plan.is_quicker(dnn, *apart));
  }
  measured->note(choice, adds ? "adding" : "apart");
  if (!adds) return apart_is_quicker;
  return plan;
}

Status ConvPlan::describe(cudnnHandle_t dnn, const ConvSpec& spec, const Wanted& wanted) {
  const TensorDesc &big = spec.transposed ? spec.y : spec.x, &small = spec.transposed ? spec.x : spec.y;
  const std::array<const TensorDesc*, 3> descs{&big, &spec.w, &small};
  for (std::size_t i = 0; i < descs.size(); ++i) {
    DLHOST_ASSIGN(tensors_[i], tensor(static_cast<std::int64_t>(i) + 1, *descs[i], wanted.type));
    bytes_[i] = static_cast<std::size_t>(descs[i]->count()) * size_of(wanted.type);
  }
  DLHOST_ASSIGN(convolution_, geometry(spec));
  const Words& words = words_of(made_);
  const float alpha = 1, beta = wanted.adds ? 1 : 0;
  DLHOST_ASSIGN(node_, Described::make(words.node));
  DLHOST_TRY(node_.set(words.convolution, convolution_));
  DLHOST_TRY(node_.set(words.big, tensors_[0]));
  DLHOST_TRY(node_.set(words.weights, tensors_[1]));
  DLHOST_TRY(node_.set(words.small, tensors_[2]));
  DLHOST_TRY(node_.set(words.alpha, CUDNN_TYPE_FLOAT, 1, &alpha));
  DLHOST_TRY(node_.set(words.beta, CUDNN_TYPE_FLOAT, 1, &beta));
  DLHOST_TRY(node_.finish());
  DLHOST_ASSIGN(graph_, Described::make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
  DLHOST_TRY(graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, node_));
  DLHOST_TRY(graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &dnn));
  return graph_.finish();
}

// An engine and its knobs: "cudnn forward engine 11, 2=1 4=3".
Result<std::string> kernel_of(const Described& config, const Described& engine, Made made) {
  std::int64_t index = 0;
  DLHOST_TRY(engine.get(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &index).status());
  std::string text = concat("cudnn ", words_of(made).name, " engine ", index);
  std::vector<Described> choices;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int i = 0; i < CUDNN_KNOB_TYPE_COUNTS; ++i) {
    DLHOST_ASSIGN(auto choice, Described::make(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR));
    raw.push_back(choice.get());
    choices.push_back(std::move(choice));
  }
  DLHOST_ASSIGN(const auto count, config.get(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                             static_cast<std::int64_t>(raw.size()), raw.data()));
  for (std::int64_t i = 0; i < count; ++i) {
    cudnnBackendKnobType_t knob{};
    std::int64_t value = 0;
    const Described& choice = choices[static_cast<std::size_t>(i)];
    DLHOST_TRY(choice.get(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &knob).status());
    DLHOST_TRY(choice.get(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, &value).status());
    text += concat(i == 0 ? ", " : " ", static_cast<int>(knob), "=", value);
  }
  return text;
}

// The allowed proposals of the heuristics, the probably fastest first.
Result<std::vector<ConvPlan::Candidate>> ConvPlan::candidates(const Wanted& wanted) const {
  std::vector<Candidate> found;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    DLHOST_ASSIGN(auto heuristics, Described::make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
    DLHOST_TRY(heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_));
    DLHOST_TRY(heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode));
    if (!heuristics.finish().ok()) continue;
    constexpr std::int64_t most = 64;
    std::vector<Described> configs;
    std::vector<cudnnBackendDescriptor_t> raw;
    for (std::int64_t i = 0; i < most; ++i) {
      DLHOST_ASSIGN(auto config, Described::make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
      raw.push_back(config.get());
      configs.push_back(std::move(config));
    }
    DLHOST_ASSIGN(const auto count,
                  heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, raw.data()));
    for (std::int64_t i = 0; i < std::min(count, most); ++i) {
      auto& config = configs[static_cast<std::size_t>(i)];
      DLHOST_ASSIGN(auto engine, Described::make(CUDNN_BACKEND_ENGINE_DESCRIPTOR));
      cudnnBackendDescriptor_t raw_engine = engine.get();
      DLHOST_TRY(config.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw_engine).status());
      std::vector<cudnnBackendNumericalNote_t> notes(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
      DLHOST_ASSIGN(const auto noted, engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                                 CUDNN_NUMERICAL_NOTE_TYPE_COUNT, notes.data()));
      notes.resize(static_cast<std::size_t>(noted));
      if (!allowed(notes, wanted.exact)) continue;
      DLHOST_ASSIGN(auto kernel, kernel_of(config, engine, wanted.made));
      found.push_back({std::move(config), std::move(kernel)});
    }
    if (!found.empty()) break; // the fallback mode is only for lack of others
  }
  return found;
}

Status ConvPlan::choose(cudnnHandle_t dnn, const Wanted& wanted, bool measures) {
  DLHOST_ASSIGN(auto all, candidates(wanted));
  std::optional<ConvPlan> best;
  float best_time = 0;
  std::size_t tried = 0;
  for (auto& candidate : all) {
    if (!wanted.kernel.empty() && candidate.kernel != wanted.kernel) continue;
    DLHOST_ASSIGN(plan_, Described::make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
    DLHOST_TRY(plan_.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &dnn));
    DLHOST_TRY(plan_.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, candidate.config));
    if (!plan_.finish().ok()) continue; // not for this GPU or these shapes
    DLHOST_TRY(plan_.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &workspace_).status());
    if (workspace_ > most_workspace) continue;
    kernel_ = std::move(candidate.kernel);
    if (!wanted.kernel.empty() || !measures) return {};
    auto time = measure(dnn);
    if (!time.ok()) continue;
    if (!best || *time < best_time) {
      best_time = *time;
      best.emplace();
      best->plan_ = std::move(plan_);
      best->kernel_ = kernel_;
      best->workspace_ = workspace_;
    }
    if (++tried == most_candidates) break;
  }
  if (!best)
    return Status::unsupported("cuDNN: of ", all.size(), " plans of ", words_of(wanted.made).name,
                               " that are deterministic", wanted.exact ? " and compute in f32" : "",
                               wanted.kernel.empty() ? " none works" : " none is the wanted one");
  plan_ = std::move(best->plan_);
  kernel_ = std::move(best->kernel_);
  workspace_ = best->workspace_;
  given_ = {};
  given_workspace_ = nullptr;
  return {};
}

// Memory for trials.
struct ConvPlan::Trial {
  std::array<Lent, 3> memory;
  Lent space;
  Tensors tensors{};
};

Result<ConvPlan::Trial> ConvPlan::trial() const {
  Trial made;
  for (std::size_t i = 0; i < made.memory.size(); ++i) {
    DLHOST_ASSIGN(made.memory[i], Lent::make(bytes_[i]));
    made.tensors[i] = made.memory[i].data();
  }
  DLHOST_ASSIGN(made.space, Lent::make(workspace()));
  return made;
}

Result<float> ConvPlan::measure(cudnnHandle_t dnn) {
  cudaStream_t stream = nullptr;
  DLHOST_TRY(dnn_status(cudnnGetStream(dnn, &stream), "asking for the stream"));
  DLHOST_ASSIGN(const auto on, trial());
  return least_time(stream, [&] { return run(dnn, on.tensors, on.space.data()); });
}

// Checks that the plan adds to existing values, by adding zeros: an engine may accept a graph and not do all of it.
Status ConvPlan::check_adding(cudnnHandle_t dnn) {
  const std::size_t made = place_of(made_), looked = std::min<std::size_t>(64, bytes_[made]);
  DLHOST_ASSIGN(const auto on, trial());
  constexpr unsigned char pattern = 0x3c; // a small number, or slightly above 1, in each type
  cudaStream_t stream = nullptr;
  DLHOST_TRY(dnn_status(cudnnGetStream(dnn, &stream), "asking for the stream"));
  DLHOST_CUDA(cudaMemsetAsync(on.tensors[made], pattern, bytes_[made], stream), "filling");
  DLHOST_TRY(run(dnn, on.tensors, on.space.data()));
  std::array<unsigned char, 64> seen{};
  for (const std::size_t from : {std::size_t{0}, bytes_[made] - looked}) {
    DLHOST_CUDA(cudaMemcpyAsync(seen.data(), static_cast<std::byte*>(on.tensors[made]) + from, looked,
                                cudaMemcpyDeviceToHost, stream),
                "looking at a result");
    DLHOST_CUDA(cudaStreamSynchronize(stream), "trying a plan");
    if (std::ranges::any_of(std::span(seen).first(looked), [&](unsigned char byte) { return byte != pattern; }))
      return Status::unsupported("cuDNN: ", kernel_, " does not add");
  }
  return {};
}

// Whether adding in the plan is faster than `apart` plus a separate addition, which reads two tensors and writes one
// where a copy reads one.
Result<bool> ConvPlan::is_quicker(cudnnHandle_t dnn, ConvPlan& apart) {
  const std::size_t bytes = bytes_[place_of(made_)];
  cudaStream_t stream = nullptr;
  DLHOST_TRY(dnn_status(cudnnGetStream(dnn, &stream), "asking for the stream"));
  DLHOST_ASSIGN(const auto from, Lent::make(bytes));
  DLHOST_ASSIGN(const auto to, Lent::make(bytes));
  DLHOST_ASSIGN(const float copy, least_time(stream, [&]() -> Status {
                  DLHOST_CUDA(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, stream),
                              "copying");
                  return {};
                }));
  DLHOST_ASSIGN(const float adding, measure(dnn));
  DLHOST_ASSIGN(const float without, apart.measure(dnn));
  return adding <= without + 1.5F * copy;
}

Status ConvPlan::hand_over(const Tensors& tensors, void* workspace) {
  if (pack_.get() && tensors == given_ && workspace == given_workspace_) return {};
  static constexpr std::array<std::int64_t, 3> ids{1, 2, 3};
  DLHOST_ASSIGN(pack_, Described::make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
  DLHOST_TRY(pack_.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, tensors.data()));
  DLHOST_TRY(pack_.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, ids.data()));
  DLHOST_TRY(pack_.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace));
  DLHOST_TRY(pack_.finish());
  given_ = tensors;
  given_workspace_ = workspace;
  return {};
}

Status ConvPlan::run(cudnnHandle_t dnn, const Tensors& tensors, void* workspace) {
  DLHOST_TRY(hand_over(tensors, workspace));
  return dnn_status(cudnnBackendExecute(dnn, plan_.get(), pack_.get()), "launching");
}

} // namespace dlhost::plugins::cuda
