// Writes pictures for nets without a data set: JPEG files of ImageNet's usual size, in a folder for each class, which
// layer type `images` reads.
//
//   dlhost bench pictures FOLDER [COUNT]
//
// Their content is soft clouds with some noise, four bits a pixel, which take as long to decode as photographs.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <turbojpeg.h>

namespace {

constexpr int width = 500, height = 375, quality = 90, classes = 4;

std::vector<unsigned char> clouds(unsigned number) {
  std::mt19937 draw(number);
  std::uniform_real_distribution<float> turn(0, 6.28F), pace(0.005F, 0.08F);
  std::normal_distribution<float> noise(0, 12);
  std::vector<unsigned char> pixels(std::size_t{width} * height * 3);
  for (int channel = 0; channel < 3; ++channel) {
    const std::array<float, 4> waves{pace(draw), pace(draw), turn(draw), turn(draw)};
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        const float soft = std::sin(waves[0] * static_cast<float>(x) + waves[2]) +
                           std::sin(waves[1] * static_cast<float>(y) + waves[3]);
        const auto at = (static_cast<std::size_t>(y) * width + static_cast<std::size_t>(x)) * 3;
        pixels[at + static_cast<std::size_t>(channel)] =
            static_cast<unsigned char>(std::clamp(128 + 50 * soft + noise(draw), 0.0F, 255.0F));
      }
  }
  return pixels;
}

bool write(const std::filesystem::path& file, const std::vector<unsigned char>& pixels) {
  const tjhandle turbo = tjInitCompress();
  unsigned char* packed = nullptr;
  unsigned long size = 0;
  bool done = turbo && tjCompress2(turbo, pixels.data(), width, 0, height, TJPF_RGB, &packed, &size, TJSAMP_420,
                                   quality, TJFLAG_FASTDCT) == 0;
  if (done) {
    std::ofstream out(file, std::ios::binary);
    out.write(reinterpret_cast<const char*>(packed), static_cast<std::streamsize>(size));
    done = static_cast<bool>(out.flush());
  }
  tjFree(packed);
  tjDestroy(turbo);
  return done;
}

} // namespace

int main(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  const int count = argc > 2 ? std::atoi(argv[2]) : 512;
  if (first.empty() || first.starts_with("-") || argc > 3 || count < 1) {
    std::cout << "dlhost bench pictures FOLDER [COUNT]: writes COUNT (512) JPEG files of " << width << " x " << height
              << " into\n"
              << classes << " folders in FOLDER, for layers of type `images`.\n";
    return first == "--help" || first == "-h" ? 0 : 2;
  }
  for (int i = 0; i < count; ++i) {
    const auto folder = std::filesystem::path(first) / ("class" + std::to_string(i % classes));
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    const auto file = folder / (std::to_string(i) + ".jpg");
    if (error || !write(file, clouds(static_cast<unsigned>(i)))) {
      std::cerr << "pictures: " << file.string() << " cannot be written; is there room, and may you write there?\n";
      return 1;
    }
  }
  std::cout << count << " pictures in " << first << "\n";
}
