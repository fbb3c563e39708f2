// What a program fuses of what could be fused, and what it says about the rest.
#include "programs.h"

namespace dlhost::program {
namespace {

using test::dense, test::layer, test::loss, test::option, test::source;

class ProgramFusionTest : public test::ProgramTest {
 protected:
  std::string remark(const char* name) const {
    for (const Unit& unit : program_->units())
      if (unit.described->name == name) return unit.fusion_remark;
    return "there is no such layer";
  }
  // Two blocks: a dense layer and a sum with what the block read.
  static std::vector<config::Layer> blocks() {
    return {source(),
            dense("low", "data", 3),
            layer("act", "relu", {"low"}),
            dense("high", "act", 3),
            layer("sum", "add", {"high", "act"}),
            layer("top", "relu", {"sum"}),
            loss("top")};
  }
};

TEST_F(ProgramFusionTest, IsToldForEachLayer) {
  program(blocks());
  EXPECT_EQ(remark("low"), "fused with act");
  EXPECT_EQ(remark("act"), "in the op of low");
  EXPECT_EQ(remark("high"), "fused with sum + top");
  EXPECT_EQ(remark("sum"), "in the op of high");
  EXPECT_EQ(remark("top"), "in the op of high");
  for (const Unit& unit : program_->units())
    EXPECT_EQ(unit.feature_fused, unit.fusion_remark.starts_with("in the op of")) << unit.described->name;
}

TEST_F(ProgramFusionTest, IsOffIfTheJobSaysSo) {
  program(blocks(), {.fuse = false});
  for (const Unit& unit : program_->units()) EXPECT_EQ(unit.fusion_remark, "") << unit.described->name;
}

TEST_F(ProgramFusionTest, SavesTheMemoryOfFusedFeatures) {
  const std::size_t apart = program(blocks(), {.training = false, .fuse = false}).footprint().unshared;
  EXPECT_LT(program(blocks(), {.training = false}).footprint().unshared, apart);
}

TEST_F(ProgramFusionTest, LeavesOutWhatIsKeptForReading) {
  program(blocks(), {.training = false, .kept = {"sum"}});
  EXPECT_EQ(remark("low"), "fused with act");
  EXPECT_EQ(remark("high"), "");
  for (const std::size_t unit : {4U, 5U}) EXPECT_FALSE(program_->units()[unit].feature_fused);
  program(blocks(), {.training = false, .kept = {"low", "top"}}); // the last of a fusion is made anyway
  EXPECT_FALSE(program_->units()[2].feature_fused);
  EXPECT_EQ(remark("high"), "fused with sum + top");
}

TEST_F(ProgramFusionTest, SaysThatALayerTakesNoEpilogue) {
  sample_ = {2, 4, 4};
  program({source(), layer("pool", "pooling", {"data"}, {option("global", true)}), layer("act", "relu", {"pool"})},
          {.training = false});
  EXPECT_EQ(remark("pool"), "not fused with act: the layer takes no epilogue");
  EXPECT_FALSE(program_->units()[2].feature_fused);
}

TEST_F(ProgramFusionTest, SaysWhyTheDeviceRefuses) {
  program({source(), layer("norm", "layer_norm", {"low"}), dense("low", "data", 3),
           layer("sum", "add", {"norm", "low"}), layer("act", "gelu", {"sum"})},
          {.training = false});
  EXPECT_EQ(remark("norm"), "not fused with sum + act: the epilogue's gradient would need the sum before it");
  EXPECT_FALSE(program_->units()[3].feature_fused);
}

} // namespace
} // namespace dlhost::program
