// Pictures in folders named after their classes, or named in a list; decoded when they are read.
#include <dlhost/plugin.h>
#include <dlhost/source.h>

#include "content.h"
#include "file_cache.h"
#include "image_file.h"
#include "image_list.h"
#include "phases.h"
#include "pool.h"

namespace dlhost::input {
namespace {

class Images : public Source {
 public:
  static constexpr std::string_view name = "images";

  struct Options : PhaseOptions<std::string> {
    std::vector<std::int64_t> size;
    std::int64_t channels = 3;
    bool keep_ratio = true;
    std::int64_t cache = 256;
    std::vector<std::string> unlabelled;
  };

  static Schema schema() {
    SchemaOf<Options> schema("JPEG and PNG files. Outputs: data, u8 [channels, height, width]; label, i32 [].");
    add_phase_options(schema, "a folder with a folder of pictures for each class, or a .txt file with a path and a "
                              "class number a line,");
    add_unlabelled(schema, &Options::unlabelled, "pictures, and folders of them,");
    schema.required("size", &Options::size, between(1, 16384), "[side] or [height, width] of a sample")
        .option("channels", &Options::channels, "3 for colour, 1 for grey", between(1, 3))
        .choice("fit", &Options::keep_ratio, {{"crop", true}, {"stretch", false}},
                "crop: a picture is resized until it just covers the size, and its middle is taken; stretch: it is "
                "resized to the size")
        .option("cache", &Options::cache, "MiB of files, packed as they are, that are kept in memory",
                between(0, 1 << 20));
    return schema;
  }

  explicit Images(Options options) : options_(std::move(options)) {}

  Status open(Host& host, const std::string& folder) override {
    disk_ = &host.disk();
    DLHOST_TRY(make_target());
    if (!options_.unlabelled.empty()) return open_unlabelled(folder);
    DLHOST_TRY(phases_.open(
        options_, [&](const std::string& file, const Set* first) { return load(beside(folder, file), first); }));
    classes_ = phases_.first().list.classes();
    return {};
  }

  Status setup(Setup& s) override {
    s.output("data", TensorDesc{DType::u8, {target_.channels, target_.height, target_.width}, {}});
    s.output("label", TensorDesc{DType::i32, {}, {}});
    s.has_gradient = false;
    return {};
  }

  std::int64_t count(Phase phase) const override { return phases_.count(phase); }

  Status read(Phase phase, std::int64_t index, std::span<std::byte* const> outputs) const override {
    const auto [set, image] = phases_.find(phase, index);
    const ImageList& list = set.list;
    const auto reader = readers_.borrow();
    const auto path = [&, at = image] { return list.path(at); };
    DLHOST_ASSIGN(const auto file, set.cache->read(*disk_, image, path, reader->file));
    Status status = reader->decoder.decode(file, target_, reinterpret_cast<std::uint8_t*>(outputs[0]));
    if (!status.ok()) return std::move(status).at(path());
    *reinterpret_cast<std::int32_t*>(outputs[1]) = list.label(image);
    return {};
  }

  std::vector<std::string> class_names() const override { return classes_; }
  std::optional<std::int64_t> class_of(Phase phase, std::int64_t index) const override {
    if (!options_.unlabelled.empty()) return {};
    const auto [set, image] = phases_.find(phase, index);
    return set.list.label(image);
  }
  std::string sample_name(Phase phase, std::int64_t index) const override {
    const auto [set, image] = phases_.find(phase, index);
    return set.list.path(image);
  }

 private:
  struct Set {
    ImageList list;
    std::unique_ptr<FileCache> cache;
    std::int64_t count() const { return list.count(); }
  };
  struct Reader {
    PictureDecoder decoder;
    std::vector<std::byte> file;
  };

  Status make_target() {
    if (options_.size.empty() || options_.size.size() > 2)
      return Status::invalid("size has ", options_.size.size(), " numbers, but is [side] or [height, width]");
    if (options_.channels == 2) return Status::invalid("channels is 2, but must be 1 or 3");
    target_ = {options_.channels, options_.size.front(), options_.size.back(), options_.keep_ratio};
    return {};
  }

  // The classes are those of training, where its folder is there.
  Status open_unlabelled(const std::string& folder) {
    std::vector<std::string> paths;
    for (const auto& path : options_.unlabelled) paths.push_back(beside(folder, path));
    DLHOST_ASSIGN(auto found, ImageList::of(*disk_, paths));
    phases_.open_alone(with_cache(std::move(found)));
    const std::string training = beside(folder, options_.train);
    if (!options_.train.empty() && disk_->list(training).ok()) {
      DLHOST_ASSIGN(classes_, ImageList::classes_in(*disk_, training));
    }
    return {};
  }

  Set with_cache(ImageList list) const {
    // The training set may fill the cache before the others; each phase has its own.
    auto cache = std::make_unique<FileCache>(list.count(), static_cast<std::uint64_t>(options_.cache) << 20);
    return {std::move(list), std::move(cache)};
  }

  Result<ImageList> list(const std::string& path, const Set* first) const {
    if (!path.ends_with(".txt")) return ImageList::in_folder(*disk_, path, first ? &first->list.classes() : nullptr);
    DLHOST_ASSIGN(const auto content, Content::open(*disk_, path));
    auto listed = ImageList::parse(content.text(), path.substr(0, path.rfind('/')));
    if (!listed.ok()) return std::move(listed).status().at(path);
    return listed;
  }

  Result<Set> load(const std::string& path, const Set* first) const {
    DLHOST_ASSIGN(auto listed, list(path, first));
    return with_cache(std::move(listed));
  }

  Options options_;
  Disk* disk_ = nullptr;
  PictureTarget target_;
  Phases<Set> phases_;
  std::vector<std::string> classes_;
  mutable Pool<Reader> readers_;
};

} // namespace
} // namespace dlhost::input

DLHOST_PLUGIN("1.0", dlhost::input::Images);
