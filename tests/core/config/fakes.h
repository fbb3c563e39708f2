// The basis of the tests of job files: a disk in memory, and plugins that consist of a schema.
#pragma once

#include <cstring>
#include <map>

#include <dlhost/host.h>
#include <dlhost/schema.h>

namespace dlhost::config {

class MemoryDisk : public Disk {
 public:
  std::map<std::string, std::string> files;

  Result<std::unique_ptr<File>> open(const std::string& path) override {
    const auto found = files.find(path);
    if (found == files.end()) return Status::not_found("cannot open ", path, ": no such file");
    return std::unique_ptr<File>(std::make_unique<MemoryFile>(found->second));
  }
  Result<std::unique_ptr<NewFile>> create(const std::string& path) override { return unsupported(path); }
  Result<std::unique_ptr<LogFile>> open_log(const std::string& path) override { return unsupported(path); }
  Result<std::vector<DirectoryEntry>> list(const std::string& path) override { return unsupported(path); }
  Status make_directory(const std::string& path) override { return unsupported(path); }
  Status rename(const std::string& from, const std::string&) override { return unsupported(from); }
  Status remove(const std::string& path) override { return unsupported(path); }
  bool exists(const std::string& path) override { return files.contains(path); }

 private:
  class MemoryFile : public File {
   public:
    explicit MemoryFile(const std::string& text) : text_(text) {}
    std::uint64_t size() override { return text_.size(); }
    Status read_at(std::uint64_t offset, std::span<std::byte> into) override {
      if (offset + into.size() > text_.size()) return Status::corrupt("too short");
      if (!into.empty()) std::memcpy(into.data(), text_.data() + offset, into.size());
      return {};
    }
    std::span<const std::byte> map() override { return std::as_bytes(std::span(text_)); }

   private:
    std::string text_;
  };
  static Status unsupported(const std::string& path) {
    return Status::unsupported("a memory disk is read only: ", path);
  }
};

class FakePlugins : public SchemaSource {
 public:
  FakePlugins() {
    struct None {};
    struct Csv {
      std::string train;
      std::int64_t test_every = 0;
    };
    struct Dense {
      std::int64_t units = 0;
      bool bias = true;
    };
    struct Convolution {
      std::int64_t filters = 0;
      std::vector<std::int64_t> kernel, stride{1}, pad{0};
      bool bias = true;
    };
    struct Pooling {
      std::string method = "max";
      std::vector<std::int64_t> kernel, stride{1}, pad{0};
      bool global = false;
    };
    struct Synthetic {
      std::vector<std::int64_t> shape;
      std::int64_t classes = 10;
    };
    struct Sgd {
      double momentum = 0;
      double weight_decay = 0;
    };
    struct Fixed {
      double base = 0.01;
    };
    struct Cosine {
      double base = 0.1;
      std::int64_t warmup = 0;
    };
    struct Gaussian {
      double std = 0.01;
    };
    schemas_[{Kind::layer, "csv"}] =
        SchemaOf<Csv>("Rows.").required("train", &Csv::train, "file").option("test_every", &Csv::test_every, "rows");
    schemas_[{Kind::layer, "dense"}] = SchemaOf<Dense>("Fully connected.")
                                           .required("units", &Dense::units, between(1, 1e9), "number of outputs")
                                           .option("bias", &Dense::bias, "add a bias");
    schemas_[{Kind::layer, "convolution"}] =
        SchemaOf<Convolution>("Convolution.")
            .required("filters", &Convolution::filters, at_least(1), "number of output channels")
            .required("kernel", &Convolution::kernel, at_least(1), "its size")
            .option("stride", &Convolution::stride, "its steps", at_least(1))
            .option("pad", &Convolution::pad, "around", at_least(0))
            .option("bias", &Convolution::bias, "add a bias");
    schemas_[{Kind::layer, "pooling"}] = SchemaOf<Pooling>("Pooling.")
                                             .option("method", &Pooling::method, "which")
                                             .option("kernel", &Pooling::kernel, "its size", at_least(1))
                                             .option("stride", &Pooling::stride, "its steps", at_least(1))
                                             .option("pad", &Pooling::pad, "around", at_least(0))
                                             .option("global", &Pooling::global, "all of it");
    schemas_[{Kind::layer, "synthetic"}] = SchemaOf<Synthetic>("Made up.")
                                               .option("shape", &Synthetic::shape, "of a sample", at_least(1))
                                               .option("classes", &Synthetic::classes, "how many", at_least(1));
    for (const char* name : {"relu", "add", "batch_norm", "softmax_loss", "accuracy"})
      schemas_[{Kind::layer, name}] = SchemaOf<None>("No options.");
    schemas_[{Kind::updater, "sgd"}] = SchemaOf<Sgd>("SGD.")
                                           .option("momentum", &Sgd::momentum, "kept", from_below(0, 1))
                                           .option("weight_decay", &Sgd::weight_decay, "pull to 0", at_least(0));
    schemas_[{Kind::schedule, "fixed"}] = SchemaOf<Fixed>("Always the same.").option("base", &Fixed::base, "rate");
    schemas_[{Kind::schedule, "cosine"}] = SchemaOf<Cosine>("Falls.")
                                               .option("base", &Cosine::base, "rate", above(0))
                                               .option("warmup", &Cosine::warmup, "steps");
    schemas_[{Kind::initializer, "gaussian"}] =
        SchemaOf<Gaussian>("Normal.").option("std", &Gaussian::std, "width", above(0));
    struct Crop {
      std::int64_t size = 0;
    };
    schemas_[{Kind::augmentation, "crop"}] = SchemaOf<Crop>("Cuts.").option("size", &Crop::size, "what stays");
    schemas_[{Kind::augmentation, "mirror"}] = SchemaOf<None>("Turns round.");
    schemas_[{Kind::algorithm, "bp"}] = SchemaOf<None>("Back-propagation.");
    schemas_[{Kind::device, "cpu"}] = SchemaOf<None>("This CPU.");
    schemas_[{Kind::consistency, "strict"}] = SchemaOf<None>("In step.");
  }

  const Schema* find(Kind kind, std::string_view name) override {
    const auto found = schemas_.find({kind, std::string(name)});
    return found == schemas_.end() ? nullptr : &found->second;
  }
  std::vector<std::string> names(Kind kind) override {
    std::vector<std::string> names;
    for (const auto& [key, schema] : schemas_)
      if (key.first == kind) names.push_back(key.second);
    return names;
  }

 private:
  std::map<std::pair<Kind, std::string>, Schema> schemas_;
};

} // namespace dlhost::config
