// A fault that is planted in core is found by runs drawn from seeds. The program has a faulty source file of core
// (faults.toml), whose functions take the place of those in the library.
//
// DLHOST_SEED is the first seed, DLHOST_SEEDS the number of seeds that may be needed.
#include <fmt/format.h>

#include "../drawn_run.h"

namespace dlhost::test {
namespace {

class PlantedTest : public SimulationTest {
 protected:
  std::string complaint(const DrawnRun& drawn) {
    const std::string path = folder_ / "job.toml";
    EXPECT_TRUE(host_.disk().write_text(path, tally_job(drawn.product, drawn.beside)).ok());
    const auto job = config::load(host_.disk(), path, drawn.set, *registry_);
    if (!job.ok()) return "";
    const auto plugins = plugin::entries_of(plugin::settings_of_process({}));
    return drawn.complaint(tools::simulate(*job, plugins, drawn.spec), *job);
  }
};

TEST_F(PlantedTest, IsFound) {
  const std::uint64_t first = setting("DLHOST_SEED", 1), count = setting("DLHOST_SEEDS", 2000);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const std::string found = complaint(DrawnRun(seed));
    if (found.empty()) continue;
    fmt::print("found with seed {}: {}\n", seed, found);
    return;
  }
  FAIL() << "not found by " << count << " seeds";
}

} // namespace
} // namespace dlhost::test
