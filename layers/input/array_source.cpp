#include "array_source.h"

#include <cstring>

namespace dlhost::input {

namespace {

// A sample's shape; pictures without channels get an axis of 1 for them.
Shape sample_shape(const ArrayFile& file, bool picture) {
  Shape shape;
  if (picture && file.shape.rank() == 3 && file.element == ArrayFile::Element::u8) shape.push_back(1);
  for (std::size_t axis = 1; axis < file.shape.rank(); ++axis) shape.push_back(file.shape[axis]);
  return shape;
}

} // namespace

SchemaOf<ArrayOptions> array_schema(const std::string& doc) {
  SchemaOf<ArrayOptions> schema(doc + " Outputs: data and, with a second file, label. Bytes stay u8 (a picture without "
                                      "channels gets an axis of 1 for them), other integers become i32, the rest f32.");
  add_phase_options(schema, "[data] or [data, labels]: the files");
  add_unlabelled(schema, &ArrayOptions::unlabelled, "a file of data");
  schema.option("mean", &ArrayOptions::mean, "taken from each value of data before it is scaled; makes data f32")
      .option("scale", &ArrayOptions::scale, "each value of data is multiplied by it; makes data f32");
  return schema;
}

Result<ArraySource::Array> ArraySource::load(Disk& disk, const std::string& path) const {
  DLHOST_ASSIGN(auto content, Content::open(disk, path));
  auto file = parse_(content.bytes());
  if (!file.ok()) return std::move(file).status().at(path);
  if (!file->fits()) return Status::unsupported(path, ": holds integers that do not fit into 32 bits");
  return Array{std::move(content), *file};
}

Result<ArraySource::Set> ArraySource::load_set(Disk& disk, const std::string& folder,
                                               const std::vector<std::string>& names, const Set* first) const {
  if (names.size() > 2) return Status::invalid("a phase has one or two files, data and labels, not ", names.size());
  Set set;
  for (const std::string& name : names) {
    DLHOST_ASSIGN(auto array, load(disk, beside(folder, name)));
    set.arrays.push_back(std::move(array));
  }
  if (set.arrays.size() == 2 && set.arrays[1].file.rows() != set.count())
    return Status::corrupt(names[0], " has ", set.count(), " samples, but ", names[1], " has ",
                           set.arrays[1].file.rows(), " labels");
  if (!first) return set;
  if (set.arrays.size() != first->arrays.size())
    return Status::invalid(names[0],
                           names.size() == 1 ? " has no file of labels, but training has one"
                                             : " has a file of labels, but training has none",
                           ": a phase is [data] or [data, labels], in all phases alike");
  for (std::size_t i = 0; i < names.size(); ++i) {
    const ArrayFile &mine = set.arrays[i].file, &theirs = first->arrays[i].file;
    if (mine.natural() != theirs.natural() || sample_shape(mine, false) != sample_shape(theirs, false))
      return Status::invalid(names[i], ": a sample is ", to_string(sample_shape(mine, false)), " ",
                             name_of(mine.natural()), ", but ", to_string(sample_shape(theirs, false)), " ",
                             name_of(theirs.natural()), " in training");
  }
  return set;
}

ArraySource::Label ArraySource::label_of(const ArrayFile& labels) {
  // Classes are i32, in whatever type they are stored.
  return {labels.natural() == DType::u8 ? DType::i32 : labels.natural(), sample_shape(labels, false)};
}

Status ArraySource::open(Host& host, const std::string& folder) {
  scaling_ = {static_cast<float>(options_.mean), static_cast<float>(options_.scale)};
  if (!options_.unlabelled.empty()) return open_unlabelled(host.disk(), folder);
  DLHOST_TRY(phases_.open(options_, [&](const std::vector<std::string>& names, const Set* first) {
    return load_set(host.disk(), folder, names, first);
  }));
  const Set& set = phases_.first();
  if (set.arrays.size() > 1) label_ = label_of(set.arrays[1].file);
  return {};
}

// Takes the label's form from another phase's files; without them, it is a class.
Status ArraySource::open_unlabelled(Disk& disk, const std::string& folder) {
  DLHOST_ASSIGN(auto set, load_set(disk, folder, {options_.unlabelled}, nullptr));
  phases_.open_alone(std::move(set));
  for (const auto& names : {options_.train, options_.test, options_.validate}) {
    if (names.size() != 2) continue;
    label_ = Label{DType::i32, {}};
    const std::string path = beside(folder, names[1]);
    if (!disk.exists(path)) continue;
    DLHOST_ASSIGN(const auto labels, load(disk, path));
    label_ = label_of(labels.file);
    break;
  }
  return {};
}

Status ArraySource::setup(Setup& s) {
  const ArrayFile& data = phases_.first().arrays[0].file;
  s.output("data", TensorDesc{scaling_.any() ? DType::f32 : data.natural(), sample_shape(data, true), {}});
  if (label_) s.output("label", TensorDesc{label_->type, label_->shape, {}});
  s.has_gradient = false;
  return {};
}

Status ArraySource::read(Phase phase, std::int64_t index, std::span<std::byte* const> outputs) const {
  const auto [set, row] = phases_.find(phase, index);
  const ArrayFile& data = set.arrays[0].file;
  if (scaling_.any())
    data.copy_row(row, reinterpret_cast<float*>(outputs[0]), scaling_);
  else
    data.copy_row(row, outputs[0]);
  if (!label_) return {};
  if (set.arrays.size() == 1) {
    std::memset(outputs[1], 0, TensorDesc{label_->type, label_->shape, {}}.plain_bytes());
    return {};
  }
  const ArrayFile& labels = set.arrays[1].file;
  if (labels.natural() != DType::u8) {
    labels.copy_row(row, outputs[1]);
    return {};
  }
  const std::byte* bytes = labels.data.data() + static_cast<std::size_t>(row) * labels.row_elements();
  auto* into = reinterpret_cast<std::int32_t*>(outputs[1]);
  for (std::size_t i = 0; i < labels.row_elements(); ++i) into[i] = static_cast<std::int32_t>(bytes[i]);
  return {};
}

std::optional<std::int64_t> ArraySource::class_of(Phase phase, std::int64_t index) const {
  const auto [set, row] = phases_.find(phase, index);
  if (set.arrays.size() == 1 || !label_ || label_->type != DType::i32 || label_->shape.rank() > 0) return {};
  const ArrayFile& labels = set.arrays[1].file;
  if (labels.natural() == DType::u8) return static_cast<std::int64_t>(labels.data[static_cast<std::size_t>(row)]);
  std::int32_t label = 0;
  labels.copy_row(row, reinterpret_cast<std::byte*>(&label));
  return label;
}

} // namespace dlhost::input
