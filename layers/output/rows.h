// Shared by all file sinks: opening the file, receiving rows and reporting errors. A format defines its header and how
// it writes a row.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <dlhost/host.h>
#include <dlhost/schema.h>
#include <dlhost/sink.h>

namespace dlhost::plugins {

struct RowsOptions {
  std::string file;
  Phase phase = Phase::test;
};

template <class Options> SchemaOf<Options> writing(SchemaOf<Options> schema) {
  return schema
      .required("file", static_cast<std::string Options::*>(&RowsOptions::file),
                "the file to write, relative to the job's folder; each pass replaces it")
      .choice("phase", static_cast<Phase Options::*>(&RowsOptions::phase),
              {{"validate", Phase::validate}, {"test", Phase::test}}, "the phase whose samples are written");
}

class RowSink : public Sink {
 public:
  Status setup(Setup& s) final {
    DLHOST_TRY(expect_inputs(s, 1, most_inputs()));
    for (const Port& port : s.inputs) {
      TensorDesc desc{is_float(port.desc.dtype) ? DType::f32 : port.desc.dtype, port.desc.shape, {}};
      DLHOST_TRY(can_write(desc).at(port.name));
      inputs_.push_back(desc);
    }
    phase_ = s.phase;
    s.host = true;
    s.has_gradient = false;
    return {};
  }

  Status prepare(Prepare& p) final {
    for (std::size_t i = 0; i < inputs_.size(); ++i) p.reads(i, inputs_[i]);
    return {};
  }

  Status open(Host& host, const std::string& folder, std::int64_t samples) final {
    if (phase_ != options().phase) return {};
    const std::string& file = options().file;
    pass_ = std::make_unique<Writing>();
    pass_->path = file.starts_with('/') || folder.empty() ? file : folder + "/" + file;
    pass_->expected = samples;
    DLHOST_ASSIGN(pass_->file, host.disk().create(pass_->path));
    const std::string text = header(inputs_, samples);
    return pass_->file->append(std::as_bytes(std::span(text)));
  }

  void compute_feature(const Pass& pass, Frame& f) const final {
    if (!pass_ || !pass_->status.ok()) return;
    const std::int64_t rows = std::min(pass.valid, inputs_[0].shape[0]);
    pass_->text.clear();
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::size_t i = 0; i < inputs_.size(); ++i) {
        const std::size_t bytes = inputs_[i].plain_bytes() / static_cast<std::size_t>(inputs_[i].shape[0]);
        const auto* first = static_cast<const std::byte*>(f.input(i)) + static_cast<std::size_t>(row) * bytes;
        append(pass_->text, inputs_[i].dtype, {first, bytes});
      }
      end_row(pass_->text);
    }
    pass_->written += rows;
    pass_->status = pass_->file->append(std::as_bytes(std::span(pass_->text)));
  }

  Status close() final {
    if (!pass_) return {};
    const auto pass = std::exchange(pass_, nullptr);
    DLHOST_TRY(std::move(pass->status));
    if (pass->written != pass->expected)
      return Status::internal(pass->path, ": ", pass->written, " samples came, but ", pass->expected, " were promised");
    return pass->file->commit();
  }

 protected:
  virtual const RowsOptions& options() const = 0;
  virtual std::size_t most_inputs() const { return 1; }
  virtual Status can_write(const TensorDesc&) const = 0;
  virtual std::string header(const std::vector<TensorDesc>& inputs, std::int64_t samples) const = 0;
  // Appends one sample of one input, from host memory.
  virtual void append(std::string& text, DType, std::span<const std::byte> sample) const = 0;
  virtual void end_row(std::string&) const {}

 private:
  struct Writing {
    std::string path;
    std::unique_ptr<NewFile> file;
    std::int64_t expected = 0, written = 0;
    std::string text; // of the batch in progress
    Status status;
  };

  Phase phase_ = Phase::train;
  std::vector<TensorDesc> inputs_;
  std::unique_ptr<Writing> pass_;
};

} // namespace dlhost::plugins
