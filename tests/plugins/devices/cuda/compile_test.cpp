// The runtime compiler accepts the text of every kind of map, for GPUs that this machine may lack.
#include "compile_text.h"

#include <gtest/gtest.h>

#include "kernels/prepare.h"
#include "maps.h"

namespace dlhost::test {
namespace {

using plugins::cuda::compile_text;

class Recorder final : public plugins::cuda::ElementCompiler {
 public:
  Result<std::unique_ptr<plugins::cuda::ElementKernel>> compile(const plugins::cuda::ElementSource& source) override {
    texts.push_back(source.text);
    return Status::unsupported("only looked at");
  }
  std::vector<std::string> texts;
};

// The reason why there is no compiler. Empty: there is one, and its refusals are errors.
std::string no_compiler() {
  const auto tried = compile_text("", "90");
  return tried.status().code() == Code::unsupported ? tried.status().message() : "";
}

TEST(CudaCompile, TakesEveryMap) {
  if (const auto why = no_compiler(); !why.empty()) GTEST_SKIP() << why;
  Recorder recorder;
  for (const auto& spec : maps_of_all_kinds()) ASSERT_TRUE(plugins::cuda::prepare_own(spec, &recorder).ok());
  EXPECT_EQ(recorder.texts.size(), maps_of_all_kinds().size());
  for (const auto& text : recorder.texts)
    for (const char* architecture : {"80", "90", "100"}) {
      const auto code = compile_text(text, architecture);
      ASSERT_TRUE(code.ok()) << code.status().message() << "\n" << text;
      EXPECT_EQ(code->substr(1, 3), "ELF");
    }
}

TEST(CudaCompile, SaysWhatIsWrongWithAText) {
  if (const auto why = no_compiler(); !why.empty()) GTEST_SKIP() << why;
  const auto code = compile_text("this is no kernel", "90");
  ASSERT_FALSE(code.ok());
  EXPECT_NE(code.status().message().find("map.cu(1)"), std::string::npos) << code.status().message();
}

} // namespace
} // namespace dlhost::test
