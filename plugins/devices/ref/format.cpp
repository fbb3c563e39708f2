#include "format.h"

namespace dlhost::plugins::ref {

Status check_format(const TensorDesc& desc) {
  if (desc.format.is_plain() || (desc.format == blocked && can_block(desc.shape))) return {};
  return Status::invalid("ref: format ", desc.format.id, " is not one of ref's for ", to_string(desc.shape));
}

std::int64_t stored_count(const TensorDesc& desc) {
  if (desc.format.is_plain()) return desc.count();
  return desc.shape[0] * ((desc.shape[1] + block - 1) / block * block) * desc.shape.past(2);
}

std::string name_of_format(const TensorDesc& desc) {
  if (desc.format.is_any()) return "any";
  return desc.format.is_plain() ? "plain" : "aBx8b";
}

Result<Format> format_of_name(const TensorDesc& plain, const std::string& name) {
  if (name == "plain") return Format::plain();
  if (name == "aBx8b" && can_block(plain.shape)) return blocked;
  return Status::invalid("ref has no format '", name, "' for ", to_string(plain.shape),
                         "; it has plain and, from two axes on, aBx8b");
}

} // namespace dlhost::plugins::ref
