// Inference from a program of one's own: a trained run is opened once, and predicts samples from memory.
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
    std::string layer;                       // whose output: LAYER or LAYER:OUTPUT; empty: the class probabilities
    std::string job;                         // the job file; empty: the one that the run kept
    std::vector<std::string> set;            // KEY=VALUE, as --set: {"train.device=cuda"}
    std::vector<std::string> plugin_folders; // beside those that dlhost itself searches
    std::int64_t batch = 64;                 // samples that are computed together
    bool last = false;                       // the newest checkpoint, also where the best by validation is kept
    bool averaged = false;                   // the averages that updater.average kept
  };
  // What a source of the net gives of one sample, before its augmentations.
  struct Input {
    std::string layer;
    DType dtype = DType::f32;
    Shape shape;
  };

  // `path`: a run's folder, a checkpoint, or a file of params (with Options::job), as `dlhost export` writes them. The
  // run's data need not be there. Not ok: what is missing, and what helps.
  static Result<Predictor> open(const std::string& path);
  static Result<Predictor> open(const std::string& path, Options options);
  ~Predictor();
  Predictor(Predictor&&) noexcept;
  Predictor& operator=(Predictor&&) noexcept;

  const std::vector<Input>& inputs() const;
  const Shape& output() const;                     // of one sample
  const std::vector<std::string>& classes() const; // their names, by number; empty: they have none

  // Thread: any, several at once. Threads that predict at the same time have a copy of the params each, which is made
  // when it is first needed.
  //
  // `samples`: as many as there are, one behind another, each as inputs()[0] says; for a net with one input. Returns
  // output().count() values for each.
  Result<std::vector<float>> predict(std::span<const float> samples);
  Result<std::vector<float>> predict(std::span<const std::uint8_t> samples);
  Result<std::vector<float>> predict(std::span<const std::int32_t> samples);
  // Of any net: where the samples of each input begin, in the order of inputs().
  Result<std::vector<float>> predict(std::span<const void* const> inputs, std::int64_t samples);

 private:
  class Net;
  explicit Predictor(std::unique_ptr<Net>);
  Result<std::vector<float>> predict_typed(DType given, const void* samples, std::size_t count);
  std::unique_ptr<Net> net_;
};

} // namespace dlhost
