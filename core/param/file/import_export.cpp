#include "param/file/import_export.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include <dlhost/nearest.h>

#include "param/file/plain.h"
#include "param/store/transfer.h"

namespace dlhost::param {

namespace {

constexpr const char* remedy =
    "Say how the file calls them with rename (\"fc*.weight\" = \"hidden*.weight\"), which params stay as they are with "
    "except, and what of the file is not wanted with unused.";

// Axes of one element do not change how the rest lies.
std::vector<std::int64_t> without_ones(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> rest;
  std::ranges::copy_if(shape, std::back_inserter(rest), [](std::int64_t dim) { return dim != 1; });
  return rest;
}

// A matrix is taken for what has more axes, and the other way round, where a row of it is all that lies behind the
// first axis: a dense layer sees a picture as a row of numbers.
bool are_rows(std::span<const std::int64_t> matrix, std::span<const std::int64_t> axes) {
  return matrix.size() == 2 && axes.size() > 2 && matrix[0] == axes[0] &&
         matrix[1] == std::accumulate(axes.begin() + 1, axes.end(), std::int64_t{1}, std::multiplies<>());
}

bool fits(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  return without_ones(a) == without_ones(b) || are_rows(a, b) || are_rows(b, a);
}

bool same_elements(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  auto sorted_a = without_ones(a), sorted_b = without_ones(b);
  std::ranges::sort(sorted_a);
  std::ranges::sort(sorted_b);
  return sorted_a == sorted_b;
}

std::string guess(const std::string& name, const std::vector<std::string>& known) {
  const auto near = nearest(name, known);
  return near.empty() ? std::string() : concat("; did you mean '", near, "'?");
}

// A tensor of the store: exactly one of the two is there.
struct Target {
  std::string name;
  TensorDesc desc;
  Param* param = nullptr;
  State* state = nullptr;
  const NamedTensor* source = nullptr;
  std::vector<std::int64_t> order;
};

// Finds each target's tensor and writes down everything that does not fit.
class Matching {
 public:
  Matching(const TensorFile& file, const config::Names& names, Store& store) : file_(file), naming_(names) {
    for (auto& param : store.params())
      targets_.push_back({.name = param->declared.name, .desc = param->master, .param = param.get()});
    for (auto& state : store.states())
      targets_.push_back({.name = state->name, .desc = state->desc, .state = state.get()});
  }

  Status match(Taken& taken) {
    std::vector<std::string> there;
    for (const auto& tensor : file_.tensors) there.push_back(tensor.name);
    for (auto& target : targets_) {
      if (naming_.kept(target.name)) {
        taken.kept.push_back(target.name);
        claim(naming_.theirs(target.name).name, target.name);
      } else {
        find(target, there);
      }
    }
    unexpected(taken);
    for (const auto& pattern : naming_.unused())
      problem(concat("'", pattern, "' is renamed or left out, but no param of this net is called so",
                     guess(pattern, names_of_ours())));
    if (problems_.empty()) return {};
    return Status::invalid(file_.what, " does not fit this net:", problems_, "\n", remedy);
  }

  const std::vector<Target>& targets() const { return targets_; }

 private:
  void problem(const std::string& text) { problems_ += "\n  " + text; }

  std::vector<std::string> names_of_ours() const {
    std::vector<std::string> names;
    for (const auto& target : targets_) names.push_back(target.name);
    return names;
  }

  // A tensor serves one param.
  bool claim(const std::string& theirs, const std::string& ours) {
    const auto [known, fresh] = claimed_.emplace(theirs, ours);
    if (!fresh) problem(concat("'", known->second, "' and '", ours, "' both take '", theirs, "'"));
    return fresh;
  }

  void find(Target& target, const std::vector<std::string>& there) {
    const auto theirs = naming_.theirs(target.name);
    const NamedTensor* tensor = file_.find(theirs.name);
    const auto called = theirs.name == target.name ? concat("'", target.name, "'")
                                                   : concat("'", target.name, "', called '", theirs.name, "' there,");
    if (!tensor) return problem(concat(called, " is not in it", guess(theirs.name, there)));
    if (!claim(theirs.name, target.name)) return;
    if (!is_float(tensor->dtype))
      return problem(concat(called, " has elements of type ", name_of(tensor->dtype), ", but params are real numbers"));
    if (!theirs.order.empty() && theirs.order.size() != tensor->shape.size())
      return problem(
          concat(called, " has ", tensor->shape.size(), " axes there, but order names ", theirs.order.size()));
    const auto shape = reordered(tensor->shape, theirs.order);
    if (const std::span<const std::int64_t> ours{target.desc.shape.begin(), target.desc.shape.end()};
        !fits(shape, ours))
      return problem(concat(called, " is ", shape_text(shape), " there and ", to_string(target.desc.shape), " here",
                            same_elements(shape, ours) ? ": its axes lie in another order: rename it with { name = \"" +
                                                             theirs.name + "\", order = [...] }"
                                                       : ""));
    target.source = tensor;
    target.order = theirs.order;
  }

  void unexpected(Taken& taken) {
    std::vector<std::string> open; // ours that found nothing
    for (const auto& target : targets_)
      if (!target.source) open.push_back(target.name);
    for (const auto& tensor : file_.tensors) {
      if (claimed_.contains(tensor.name)) continue;
      if (naming_.ignored(tensor.name))
        taken.ignored.push_back(tensor.name);
      else
        problem(concat("'", tensor.name, "' of the file is not in this net", guess(tensor.name, open)));
    }
  }

  const TensorFile& file_;
  Naming naming_;
  std::vector<Target> targets_;
  std::map<std::string, std::string> claimed_; // by the file's name
  std::string problems_;
};

} // namespace

Result<Taken> take(const TensorFile& file, const config::Names& names, Store& store) {
  Taken taken{.what = file.what};
  Matching matching(file, names, store);
  DLHOST_TRY(matching.match(taken));
  for (const auto& target : matching.targets()) {
    if (!target.source) continue;
    const PlainView plain(*target.source, target.order);
    if (target.param)
      DLHOST_TRY(store.set(*target.param, plain.values()));
    else
      DLHOST_TRY(upload(store.computing().device, store.computing().stream, plain.values(), target.desc,
                        target.state->memory.data()));
    if (target.source->dtype != DType::f32) taken.converted.push_back(target.name);
    ++taken.tensors;
  }
  DLHOST_TRY(store.wait());
  return taken;
}

std::string to_string(const Taken& taken) {
  std::string text = concat(taken.what, ": ", taken.tensors, " tensors taken");
  const auto add = [&](std::string_view words, const std::vector<std::string>& names) {
    constexpr std::size_t listed_at_most = 8;
    if (names.empty()) return;
    text += concat("; ", words, ": ");
    for (std::size_t i = 0; i < std::min(names.size(), listed_at_most); ++i) text += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > listed_at_most) text += concat(" and ", names.size() - listed_at_most, " more");
  };
  add("read into f32", taken.converted);
  add("kept as they were", taken.kept);
  add("left out", taken.ignored);
  return text;
}

Result<std::vector<NamedTensor>> give(const TensorFile& file, const config::Names& names,
                                      std::vector<std::vector<float>>& values) {
  Naming naming(names);
  std::vector<NamedTensor> given;
  std::set<std::string> used;
  std::string problems;
  for (const auto& tensor : file.tensors) {
    if (naming.kept(tensor.name)) continue;
    const auto theirs = naming.theirs(tensor.name);
    if (!used.insert(theirs.name).second) problems += concat("\n  two params would be called '", theirs.name, "'");
    NamedTensor& out = given.emplace_back(tensor);
    out.name = theirs.name;
    if (theirs.order.empty()) continue;
    if (theirs.order.size() != tensor.shape.size()) {
      problems +=
          concat("\n  '", tensor.name, "' has ", tensor.shape.size(), " axes, but order names ", theirs.order.size());
      continue;
    }
    // Ours is to lie so that import, which reads axis order[i] as axis i, gives it back: the inverse.
    std::vector<std::int64_t> inverse(theirs.order.size());
    for (std::size_t i = 0; i < inverse.size(); ++i)
      inverse[static_cast<std::size_t>(theirs.order[i])] = static_cast<std::int64_t>(i);
    out.shape = reordered(tensor.shape, inverse);
    values.push_back(plain_values(tensor, inverse));
    out.bytes = std::as_bytes(std::span(values.back()));
  }
  std::vector<std::string> ours;
  for (const auto& tensor : file.tensors) ours.push_back(tensor.name);
  for (const auto& pattern : naming.unused())
    problems += concat("\n  '", pattern, "' is renamed or left out, but nothing is called so", guess(pattern, ours));
  if (!problems.empty()) return Status::invalid(file.what, " cannot be written under these names:", problems);
  return given;
}

} // namespace dlhost::param
