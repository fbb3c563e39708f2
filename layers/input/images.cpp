// Pictures in folders named after their classes, or named in a list; decoded at each read.
#include <dlhost/plugin.h>
#include <dlhost/source.h>

#include "broken.h"
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
    bool skip_broken = false;
    double broken_limit = 0.01;
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
        .option("cache", &Options::cache, "MiB of packed files that are kept in memory", between(0, 1 << 20))
        .choice("broken", &Options::skip_broken, {{"error", false}, {"skip", true}},
                "a picture that cannot be read ends the run, or is replaced by the next readable one")
        .option("broken_limit", &Options::broken_limit, "with skip: the share of broken pictures that ends the run",
                between(0, 1));
    return schema;
  }

  explicit Images(Options options) : options_(std::move(options)) {}

  Status open(Host& host, const std::string& folder) override {
    disk_ = &host.disk();
    log_ = &host.log();
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
    layer_ = s.layer;
    return {};
  }

  std::int64_t count(Phase phase) const override { return phases_.count(phase); }

  // With skip_broken the same picture replaces a broken one for every reader, in every order of reads.
  Status read(Phase phase, std::int64_t index, std::span<std::byte* const> outputs) const override {
    const std::int64_t samples = count(phase);
    for (std::int64_t step = 0; step < samples; ++step) {
      const auto [set, image] = phases_.find(phase, (index + step) % samples);
      if (set.broken->knows(image)) continue;
      Status status = read_picture(set, image, outputs);
      if (status.ok() || !skips() || !blames_the_file(status)) return status;
      DLHOST_TRY(leave_out(set, image, status));
    }
    return Status::corrupt("none of the ", samples, " pictures can be read");
  }

  std::vector<std::string> class_names() const override { return classes_; }
  // Class and name belong to the picture that takes the sample's place, as far as known.
  std::optional<std::int64_t> class_of(Phase phase, std::int64_t index) const override {
    if (!options_.unlabelled.empty()) return {};
    const auto [set, image] = shown(phase, index);
    return set.list.label(image);
  }
  std::string sample_name(Phase phase, std::int64_t index) const override {
    const auto [set, image] = shown(phase, index);
    return set.list.path(image);
  }

 private:
  struct Set {
    ImageList list;
    std::unique_ptr<FileCache> cache;
    std::unique_ptr<BrokenPictures> broken;
    std::int64_t count() const { return list.count(); }
  };
  struct Reader {
    PictureDecoder decoder;
    std::vector<std::byte> file;
  };

  // Never for predictions: they have a row for each picture.
  bool skips() const { return options_.skip_broken && options_.unlabelled.empty(); }

  std::pair<const Set&, std::int64_t> shown(Phase phase, std::int64_t index) const {
    const std::int64_t samples = count(phase);
    for (std::int64_t step = 0; step < samples; ++step)
      if (const auto found = phases_.find(phase, (index + step) % samples); !found.first.broken->knows(found.second))
        return found;
    return phases_.find(phase, index);
  }

  Status read_picture(const Set& set, std::int64_t image, std::span<std::byte* const> outputs) const {
    const auto reader = readers_.borrow();
    const auto path = [&] { return set.list.path(image); };
    DLHOST_ASSIGN(const auto file, set.cache->read(*disk_, image, path, reader->file));
    Status status = reader->decoder.decode(file, target_, reinterpret_cast<std::uint8_t*>(outputs[0]));
    if (!status.ok()) return std::move(status).at(path());
    *reinterpret_cast<std::int32_t*>(outputs[1]) = set.list.label(image);
    return {};
  }

  // Notes a broken picture: warns by name for the first few, then by counts.
  Status leave_out(const Set& set, std::int64_t image, const Status& why) const {
    constexpr std::int64_t named = 5;
    const std::int64_t known = set.broken->add(image);
    if (known == 0) return {};
    const std::string so_far = concat(known, " of ", set.count(), " pictures cannot be read so far");
    if (static_cast<double>(known) > options_.broken_limit * static_cast<double>(set.count()))
      return Status::corrupt(so_far, ", more than broken_limit = ", options_.broken_limit, " lets pass (",
                             names_of_broken(set),
                             "): repair them, take them away or raise broken_limit; the last: ", why.message());
    if (known <= named)
      warn(concat("the next picture takes the place of one that cannot be read: ", why.message()));
    else if (is_round(known))
      warn(concat(so_far, "; the next ones take their places"));
    return {};
  }
  void warn(const std::string& what) const { log_->write(LogLevel::warning, concat("source '", layer_, "': ", what)); }
  static std::string names_of_broken(const Set& set) {
    constexpr std::size_t listed = 3;
    std::string names;
    const auto first = set.broken->first(listed + 1);
    for (std::size_t i = 0; i < first.size(); ++i)
      names += concat(i == 0 ? "" : ", ", i == listed ? "..." : set.list.path(first[i]));
    return names;
  }
  // 10, 100, 1000, ...
  static bool is_round(std::int64_t number) {
    while (number >= 10 && number % 10 == 0) number /= 10;
    return number == 1;
  }

  Status make_target() {
    if (options_.size.empty() || options_.size.size() > 2)
      return Status::invalid("size has ", options_.size.size(), " numbers, but is [side] or [height, width]");
    if (options_.channels == 2) return Status::invalid("channels is 2, but must be 1 or 3");
    target_ = {options_.channels, options_.size.front(), options_.size.back(), options_.keep_ratio};
    return {};
  }

  // The classes are those of training, if its folder exists.
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
    // Each phase has its own cache, so that the training set cannot displace the others.
    auto cache = std::make_unique<FileCache>(list.count(), static_cast<std::uint64_t>(options_.cache) << 20);
    auto broken = std::make_unique<BrokenPictures>(list.count());
    return {std::move(list), std::move(cache), std::move(broken)};
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
  Log* log_ = nullptr;
  std::string layer_;
  PictureTarget target_;
  Phases<Set> phases_;
  std::vector<std::string> classes_;
  mutable Pool<Reader> readers_;
};

} // namespace
} // namespace dlhost::input

DLHOST_PLUGIN("1.0", dlhost::input::Images);
