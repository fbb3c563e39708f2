// Faulty job files: the exact messages.
#include "fixture.h"

namespace dlhost::config {
namespace {

const std::string head = "name = \"x\"\n[[layer]]\nname = \"data\"\ntype = \"csv\"\ntrain = \"x.csv\"\n"; // 5 lines

class JobErrors : public LoadTest {};

TEST_F(JobErrors, NotToml) {
  EXPECT_THAT(problems("name = \"x\"\nbatch = = 3\n"), testing::StartsWith("job.toml:2:9: not valid TOML: "));
  // toml++ 3.3 has an assertion instead of a check for this.
  EXPECT_THAT(problems("[|x]\n"), testing::StartsWith("job.toml:1:2: not valid TOML: "));
}

TEST_F(JobErrors, NoFile) {
  const auto job = load(disk, "nowhere.toml", {}, plugins);
  ASSERT_FALSE(job.ok());
  EXPECT_EQ(job.status().message(), "cannot open nowhere.toml: no such file");
}

TEST_F(JobErrors, Empty) {
  EXPECT_EQ(problems(""), "job.toml:1:1: name: is required: the job's name; run folders are named after it\n"
                          "job.toml:1:1: the job has no layers; it needs at least one [[layer]]");
  EXPECT_EQ(problems("name = \"x\""), "job.toml:1:1: the job has no layers; it needs at least one [[layer]]");
}

TEST_F(JobErrors, UnknownTopKey) {
  EXPECT_EQ(problems("nmae = \"x\"\n"), "job.toml:1:1: nmae: unknown option; did you mean 'name'? (known: block, "
                                        "checkpoint, folder, get_data, include, layer, "
                                        "name, partition, "
                                        "record, recovery, seed, test, topology, train, updater, validate)\n"
                                        "job.toml:1:1: the job has no layers; it needs at least one [[layer]]");
}

TEST_F(JobErrors, IncludeIsAKeyToo) {
  EXPECT_THAT(problems(head.substr(0, 11) + "includ = \"y.toml\"\n" + head.substr(11)),
              testing::StartsWith("job.toml:2:1: includ: unknown option; did you mean 'include'?"));
}

TEST_F(JobErrors, UnknownLayerOption) {
  EXPECT_EQ(problems(head + "[[layer]]\nname = \"fc1\"\ntype = \"dense\"\nsrc = \"data\"\nunit = 10\n"),
            "job.toml:10:1: layer 'fc1': unit: unknown option; did you mean 'units'? (known: augment, bias, dtype, "
            "folder, frozen, location, name, param, partition, phases, src, type, units)");
}

TEST_F(JobErrors, UnknownPlugin) {
  EXPECT_EQ(problems(head + "[[layer]]\nname = \"fc1\"\ntype = \"dens\"\nsrc = \"data\"\n"),
            "job.toml:8:1: layer 'fc1': type: unknown layer 'dens'; did you mean 'dense'? (known: accuracy, add, "
            "batch_norm, convolution, csv, dense, pooling, relu, softmax_loss, synthetic)");
  EXPECT_EQ(problems(head + "[updater]\ntype = \"adam\"\n"),
            "job.toml:7:1: updater.type: unknown updater 'adam'; known: sgd");
  EXPECT_EQ(problems(head + "[train]\ndevice = \"gpu\"\n"),
            "job.toml:7:1: train.device: unknown device 'gpu'; did you mean 'cpu'? (known: cpu)");
}

TEST_F(JobErrors, WrongTypes) {
  EXPECT_EQ(problems(head + "[train]\nbatch = \"many\"\nreproducible = 1\nalgorithm = 3\nstop = 5\nlast = true\n"),
            "job.toml:7:1: train.batch: must be an integer, but is \"many\"\n"
            "job.toml:8:1: train.reproducible: must be true or false, but is 1\n"
            "job.toml:9:1: train.algorithm: must be the name of an algorithm or a table { type = \"...\" }, but is 3\n"
            "job.toml:10:1: train.stop: must be a table, but is 5\n"
            "job.toml:11:1: train.last_batch: must be a text in quotes, but is true");
  EXPECT_EQ(problems("name = \"x\"\nlayer = 1\ntrain = 2\n"), "job.toml:2:1: layer: must be written as [[layer]]\n"
                                                              "job.toml:3:1: train: must be a table, but is 2");
  EXPECT_EQ(problems("name = 1979-05-27\n"),
            "job.toml:1:1: dates and times mean nothing in a job file; write a text in quotes");
}

TEST_F(JobErrors, Ranges) {
  EXPECT_EQ(problems(head +
                     "[train]\nbatch = 0\n[updater]\nmomentum = 1.0\nclip_norm = -1\nrate = { type = \"cosine\", "
                     "base = 0 }\n"),
            "job.toml:7:1: train.batch: must be at least 1, but is 0\n"
            "job.toml:9:1: updater.momentum: must be at least 0 and below 1, but is 1.0\n"
            "job.toml:10:1: updater.clip_norm: must be at least 0, but is -1\n"
            "job.toml:11:27: updater.rate.base: must be above 0, but is 0");
  EXPECT_EQ(problems(head + "[train]\nstop.accuracy = 2\n"),
            "job.toml:7:6: train.stop.accuracy: must be at least 0 and at most 1, but is 2");
}

TEST_F(JobErrors, Choices) {
  EXPECT_EQ(problems(head + "[train]\nlast = \"dorp\"\ndtype = \"f15\"\n"),
            "job.toml:7:1: train.last_batch: 'dorp' is not allowed; did you mean 'drop'? (known: drop, partial, wrap)\n"
            "job.toml:8:1: train.dtype: 'f15' is not allowed; did you mean 'f16'? (known: bf16, f16, f32)");
  EXPECT_EQ(problems(head + "phases = [\"train\", \"valid\"]\n"),
            "job.toml:6:1: layer 'data': phases: 'valid' is not allowed; did you mean 'validate'? (known: test, train, "
            "validate)");
}

TEST_F(JobErrors, Cadence) {
  EXPECT_EQ(
      problems(head + "[validate]\nevery = 5\n[checkpoint]\nevery = { step = 5 }\n"),
      "job.toml:7:1: validate.every: must be a table such as { epochs = 1 } or { steps = 500 }, but is 5\n"
      "job.toml:9:11: checkpoint.every.step: unknown option; did you mean 'steps'? (known: epochs, seconds, steps)");
}

TEST_F(JobErrors, FoldersThatAreUrls) {
  EXPECT_EQ(problems(head + "[checkpoint]\nfolder = \"foo://x\"\n[record]\nfolder = \"file:///runs\"\n"),
            "job.toml:7:1: checkpoint.folder: \"foo://x\" has the scheme \"foo\", and no scheme is known here: runs "
            "write to folders of the file system; mount the storage and name the folder where it is mounted\n"
            "job.toml:9:1: record.folder: \"file:///runs\" has the scheme \"file\", and no scheme is known here: runs "
            "write to folders of the file system; write \"/runs\"");
  EXPECT_EQ(problems(head + "[checkpoint]\nfolder = \"./foo://x\"\n[record]\nfolder = \"a:b\"\n"), "");
}

TEST_F(JobErrors, Sources) {
  EXPECT_EQ(
      problems(head + "[[layer]]\nname = \"r\"\ntype = \"relu\"\nsrc = [\n  \"dta\",\n  \"data:\",\n  \"data:a:b\"]\n"),
      "job.toml:10:3: layer 'r': src: unknown layer 'dta'; did you mean 'data'? (known: data, r)\n"
      "job.toml:11:3: layer 'r': src: must be \"layer\" or \"layer:output\", but is \"data:\"\n"
      "job.toml:12:3: layer 'r': src: must be \"layer\" or \"layer:output\", but is \"data:a:b\"");
}

TEST_F(JobErrors, Names) {
  EXPECT_EQ(problems(head + "[[layer]]\nname = \"data\"\ntype = \"relu\"\n"),
            "job.toml:6:1: layer 'data': there is a layer of that name already, at job.toml:2:1");
  EXPECT_EQ(problems(head + "[[layer]]\nname = \"a:b\"\ntype = \"relu\"\n"),
            "job.toml:7:1: layer 'a:b': name: must be made of letters, digits, _ - . / and +, but is \"a:b\"");
  EXPECT_EQ(problems(head + "[[layer]]\ntype = \"relu\"\n"),
            "job.toml:6:1: layer: name: is required: the name by which other layers read it");
}

TEST_F(JobErrors, Params) {
  EXPECT_EQ(problems(head +
                     "[[layer]]\nname = \"fc\"\ntype = \"dense\"\nunits = 3\nparam.weight.rate = 2\nparam.bias = 1\n"
                     "param.x.init = { type = \"gauss\" }\n"),
            "job.toml:10:14: layer 'fc': param.weight.rate: unknown option; did you mean 'rate_scale'? (known: "
            "consistency, decay_scale, frozen, init, rate_scale, share)\n"
            "job.toml:11:7: layer 'fc': param.bias: must be a table such as { rate_scale = 2 }, but is 1\n"
            "job.toml:12:18: layer 'fc': param.x.init.type: unknown initializer 'gauss'; did you mean 'gaussian'? "
            "(known: gaussian)");
}

TEST_F(JobErrors, TopologyFramework) {
  EXPECT_EQ(problems(head + "[topology]\nframework = \"downpour\"\nworkers = 4\nworker_groups = 2\n"),
            "job.toml:9:1: topology.worker_groups: framework \"downpour\" of 4 workers means 4, but it is 2; leave one "
            "of the two out");
  EXPECT_EQ(problems(head + "[topology]\nworkers = 4\n"), "job.toml:7:1: topology.workers: needs topology.framework");
}

} // namespace
} // namespace dlhost::config
