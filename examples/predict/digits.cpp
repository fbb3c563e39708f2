// digits RUN FILE...: predicts the digit of each picture with a run of the quick-start. A file holds 64 numbers of 0 to
// 16, a picture of 8 x 8 pixels.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include <dlhost/predict.h>

namespace {

std::vector<float> read_picture(const char* path) {
  std::ifstream file(path);
  std::vector<float> pixels{std::istream_iterator<float>(file), {}};
  for (float& pixel : pixels) pixel /= 16; // as in the job: scale = 0.0625
  return pixels;
}

void tell(const char* path, const dlhost::Result<std::vector<float>>& probabilities) {
  if (!probabilities.ok()) {
    std::fprintf(stderr, "%s: %s\n", path, probabilities.status().message().c_str());
    return;
  }
  const auto best = std::max_element(probabilities->begin(), probabilities->end());
  std::printf("%s: %d, probability %.2f\n", path, static_cast<int>(best - probabilities->begin()), *best);
}

} // namespace

int main(int count, char** words) {
  if (count < 3) {
    std::fprintf(stderr, "usage: digits RUN FILE...\n");
    return 2;
  }
  auto net = dlhost::Predictor::open(words[1]);
  if (!net.ok()) {
    std::fprintf(stderr, "%s\n", net.status().message().c_str());
    return 1;
  }
  // Several threads may predict at once.
  std::vector<dlhost::Result<std::vector<float>>> found(count - 2, dlhost::Status::internal("not predicted"));
  {
    std::vector<std::jthread> threads;
    for (int i = 2; i < count; ++i)
      threads.emplace_back([&, i] { found[i - 2] = net->predict(read_picture(words[i])); });
  }
  for (int i = 2; i < count; ++i) tell(words[i], found[i - 2]);
  return std::all_of(found.begin(), found.end(), [](const auto& one) { return one.ok(); }) ? 0 : 1;
}
