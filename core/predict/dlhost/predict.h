// Inference in a user's program: opens a trained run once and predicts samples from memory.
//
//   auto net = dlhost::Predictor::open("runs/digits-...");
//   auto probabilities = net->predict(pixels);   // a row for each sample
//
// Link with `pkg-config --cflags --libs dlhost-predict`, or with the CMake target dlhost::predict.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <dlhost/dtype.h>
#include <dlhost/status.h>
#include <dlhost/tensor.h>

namespace dlhost {

class Predictor {
 public:
  struct Options {
    std::string layer;            // the predicted output: LAYER or LAYER:OUTPUT; empty: the class probabilities
    std::string job;              // the job file; empty: the one saved by the run
    std::vector<std::string> set; // KEY=VALUE, as --set: {"train.device=cuda"}
    std::vector<std::string> plugin_folders; // besides those that dlhost searches
    std::int64_t batch = 64;                 // samples computed together
    bool last = false;                       // the newest checkpoint, even if the best by validation is kept
    bool averaged = false;                   // the averages of updater.average
  };
  // One sample of a source of the net, before its augmentations.
  struct Input {
    std::string layer;
    DType dtype = DType::f32;
    Shape shape;
  };

  // `path`: a run's folder, a checkpoint, or a file of params written by `dlhost export` (with Options::job). Does not
  // need the run's data. Errors: what is missing, and the remedy.
  static Result<Predictor> open(const std::string& path);
  static Result<Predictor> open(const std::string& path, Options options);
  ~Predictor();
  Predictor(Predictor&&) noexcept;
  Predictor& operator=(Predictor&&) noexcept;

  const std::vector<Input>& inputs() const;
  const Shape& output() const;                     // of one sample
  const std::vector<std::string>& classes() const; // names by class number; empty: no names

  // Thread: any, several at once. Each thread that predicts at the same time needs a copy of the params, made on
  // demand.
  //
  // For a net with one input. `samples`: any number, one after the other, in the form of inputs()[0]. Returns
  // output().count() values for each sample.
  Result<std::vector<float>> predict(std::span<const float> samples);
  Result<std::vector<float>> predict(std::span<const std::uint8_t> samples);
  Result<std::vector<float>> predict(std::span<const std::int32_t> samples);
  // For any net. `inputs`: pointers to the samples of each input, in the order of inputs().
  Result<std::vector<float>> predict(std::span<const void* const> inputs, std::int64_t samples);

 private:
  class Net;
  explicit Predictor(std::unique_ptr<Net>);
  Result<std::vector<float>> predict_typed(DType given, const void* samples, std::size_t count);
  std::unique_ptr<Net> net_;
};

} // namespace dlhost
