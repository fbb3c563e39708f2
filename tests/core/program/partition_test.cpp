// Programs of the workers of a group, each of which computes a part of the net, against the program of one worker. Here
// each param has one holder, or all that hold it compute the same: nothing of a param goes between workers.
#include <condition_variable>
#include <mutex>
#include <thread>

#include "plan/place.h"
#include "programs.h"

namespace dlhost::program {
namespace {

using test::dense, test::layer, test::loss, test::option, test::source;

// Where the workers of a test meet: all are threads of one process.
class Meeting {
 public:
  explicit Meeting(std::size_t workers) : memory_(workers), unread_(workers) {}

  void open(std::uint32_t rank, std::size_t bytes) { memory_[rank].resize(bytes); }
  std::span<std::byte> memory_of(std::uint32_t rank) { return memory_[rank]; }
  Status until_read(std::uint32_t rank) {
    return wait([&] { return unread_[rank] == 0; }, "that all is read");
  }
  void lend(std::uint32_t transfer, std::uint32_t rank, std::uint64_t step, std::size_t readers) {
    const std::lock_guard lock(mutex_);
    lent_[{transfer, rank}] = step;
    unread_[rank] += readers;
    changed_.notify_all();
  }
  Result<const std::byte*> until_lent(std::uint32_t transfer, std::uint32_t worker, std::uint64_t step) {
    DLHOST_TRY(wait([&] { return lent_[{transfer, worker}] == step; }, concat("transfer ", transfer, " of ", worker)));
    return static_cast<const std::byte*>(memory_[worker].data());
  }
  void give_back(std::uint32_t worker) {
    const std::lock_guard lock(mutex_);
    --unread_[worker];
    changed_.notify_all();
  }

 private:
  template <class Done> Status wait(const Done& done, const std::string& what) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), done) ? Status()
                                                                   : Status(Code::timeout, "waits for " + what);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::vector<std::byte>> memory_;
  std::vector<std::size_t> unread_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> lent_; // the step in which it was, from 1
};

class Boxes final : public BoxExchange {
 public:
  Boxes(Meeting& meeting, std::uint32_t rank) : meeting_(meeting), rank_(rank) {}
  void lay_out(LentMemory lent) override { meeting_.open(rank_, lent.bytes[rank_]); }
  std::span<std::byte> own() override { return meeting_.memory_of(rank_); }
  Status begin_step(std::uint64_t step) override {
    step_ = step + 1;
    return meeting_.until_read(rank_);
  }
  Status lend(std::uint32_t transfer, std::span<const std::uint32_t> to) override {
    meeting_.lend(transfer, rank_, step_, to.size());
    return {};
  }
  Result<const std::byte*> wait(std::uint32_t transfer, std::uint32_t worker) override {
    return meeting_.until_lent(transfer, worker, step_);
  }
  Status give_back(std::uint32_t, std::uint32_t worker) override {
    meeting_.give_back(worker);
    return {};
  }

 private:
  Meeting& meeting_;
  const std::uint32_t rank_;
  std::uint64_t step_ = 0;
};

// The layer, cut by a split of this name.
config::Layer by(config::Layer layer, const std::string& split) {
  layer.scheme.emplace();
  layer.scheme->split = split;
  return layer;
}
config::Layer in_grid(config::Layer layer, std::vector<std::int64_t> axes, std::vector<std::int64_t> grid) {
  layer.scheme.emplace();
  layer.scheme->axes = std::move(axes);
  layer.scheme->grid = std::move(grid);
  return layer;
}
config::Layer on(config::Layer layer, std::vector<std::int64_t> workers) {
  layer.location = std::move(workers);
  return layer;
}

class PartitionTest : public test::ProgramTest {
 protected:
  struct Worker {
    Worker(plugin::Registry& registry, Meeting& meeting, std::uint32_t rank)
        : device(*registry.create<Device>("ref", {})), stream(*device->stream()), store(*device, *stream),
          boxes(meeting, rank) {}
    std::unique_ptr<Device> device;
    std::unique_ptr<Stream> stream;
    plugin::Activity activity;
    param::Store store;
    Boxes boxes;
    std::unique_ptr<Program> program;
  };

  // Makes the programs of a group and that of one worker.
  void divide(const std::vector<config::Layer>& layers, std::uint32_t workers, int frames = 1) {
    workers_.clear();
    frames_ = frames;
    test::Made algorithm = test::back_propagation(frames);
    program(layers, {.algorithm = &algorithm});
    config::Job job;
    job.layers = layers;
    job.train.batch = batch / frames;
    job.topology.workers_per_group = workers;
    const net::Graph whole = graph(layers, {.batch = batch / frames});
    config::Problems problems;
    auto partition = plan::Partition::of(whole, job, plan::Place::bounds_of_rows(job), problems);
    ASSERT_TRUE(partition) << problems.status().message();
    partition_ = *std::move(partition);
    meeting_.emplace(workers);
    for (std::uint32_t rank = 0; rank < workers; ++rank) {
      Worker& worker = *workers_.emplace_back(std::make_unique<Worker>(registry_, *meeting_, rank));
      auto net = std::make_unique<net::Graph>(graph(layers, {.batch = batch / frames}));
      auto nodes = plan::node_parts(*net, partition_.layers, rank);
      auto record = program::record(algorithm, "made", *net);
      auto built = program::build({.graph = std::move(net),
                                   .part = {.nodes = std::move(nodes),
                                            .connectors = partition_.connectors,
                                            .rank = rank,
                                            .boxes = &worker.boxes},
                                   .record = *std::move(record),
                                   .device = worker.device.get(),
                                   .registry = &registry_,
                                   .device_type = "ref",
                                   .stream = worker.stream.get(),
                                   .store = &worker.store,
                                   .activity = &worker.activity,
                                   .training = true,
                                   .updater = updater_.get()});
      ASSERT_TRUE(built.ok()) << built.status().message();
      worker.program = *std::move(built);
    }
  }
  // Gives all the same params.
  void begin(std::mt19937& draws) {
    const Values values = draw_values(draws);
    set(values);
    for (std::uint32_t rank = 0; rank < workers_.size(); ++rank)
      each_piece(rank, [&](param::Param& param, const Shape& shape, const net::Box& box) {
        EXPECT_TRUE(workers_[rank]->store.set(param, piece(values.at(param.declared.name), shape, box)).ok());
      });
  }

  // Makes a step on all workers at once, and on the one.
  void step(std::uint64_t number) {
    run(rate);
    std::vector<Status> ends(workers_.size());
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < workers_.size(); ++rank)
      threads.emplace_back([&, rank] { ends[rank] = step_of(rank, number); });
    for (auto& thread : threads) thread.join();
    for (const Status& end : ends) EXPECT_TRUE(end.ok()) << end.message();
  }
  // Steps from drawn params, and rows.
  void steps(std::uint64_t count, std::mt19937& draws) {
    for (std::uint64_t number = 0; number < count; ++number) {
      begin(draws);
      draw_batch(draws);
      step(number);
      ASSERT_NO_FATAL_FAILURE(expect_equal()) << "step " << number;
    }
  }

 private:
  // The group's params are those of one worker, and so is the loss.
  void expect_equal() {
    const Values wanted = values();
    for (std::uint32_t rank = 0; rank < workers_.size(); ++rank)
      each_piece(rank, [&](param::Param& param, const Shape& shape, const net::Box& box) {
        const auto got =
            *param::download(*workers_[rank]->device, *workers_[rank]->stream, param.master, param.value.data());
        const auto right = piece(wanted.at(param.declared.name), shape, box);
        ASSERT_EQ(got.size(), right.size());
        for (std::size_t i = 0; i < got.size(); ++i)
          ASSERT_NEAR(got[i], right[i], 1e-5 * std::max(1.F, std::abs(right[i])))
              << param.declared.name << " of worker " << rank << ", element " << i;
      });
    for (std::size_t m = 0; m < program_->metrics().size(); ++m) {
      double sum = 0, count = 0;
      for (const auto& worker : workers_) {
        sum += worker->program->metrics()[m].last_sum;
        count += worker->program->metrics()[m].last_count;
      }
      EXPECT_NEAR(sum, program_->metrics()[m].last_sum, 1e-5 * std::max(1.0, std::abs(sum)));
      EXPECT_EQ(count, program_->metrics()[m].last_count);
    }
  }
  template <class Act> void each_piece(std::uint32_t rank, const Act& act) {
    const auto& nodes = program_->graph().nodes();
    for (std::size_t n = 0; n < nodes.size(); ++n)
      for (std::size_t p = 0; p < nodes[n].params.size(); ++p) {
        const net::Pieces& pieces = partition_.layers[n].pieces;
        if (pieces.of(rank) == net::Pieces::none) continue;
        const Shape& shape = nodes[n].params[p].spec.shape;
        for (const auto& param : workers_[rank]->store.params())
          if (param->declared.name == nodes[n].params[p].name)
            act(*param, shape, pieces.part(shape, pieces.of(rank), p, &Split::params));
      }
  }
  static std::vector<float> piece(const std::vector<float>& whole, const Shape& shape, const net::Box& box) {
    std::vector<float> part;
    for (std::int64_t i = 0; i < box.count(); ++i) {
      std::int64_t place = 0, left = i;
      for (std::size_t axis = shape.rank(); axis-- > 0; left /= box.shape[axis])
        place += (box.first[axis] + left % box.shape[axis]) * shape.past(axis + 1);
      part.push_back(whole[static_cast<std::size_t>(place)]);
    }
    return part;
  }
  Status step_of(std::size_t rank, std::uint64_t number) {
    Program& program = *workers_[rank]->program;
    const auto& nodes = program.graph().nodes();
    const auto at = static_cast<std::size_t>(program.graph().find("data") - nodes.data());
    // Its rows of each frame, one frame after the other.
    const std::int64_t first_row = program.first_row() / frames_, rows = program.rows() / frames_;
    std::vector<float> data, target;
    for (int frame = 0; frame < frames_; ++frame) {
      const std::int64_t first = (frame * batch / frames_ + first_row) * sample_.count();
      data.insert(data.end(), data_.begin() + first, data_.begin() + first + rows * sample_.count());
      target.insert(target.end(), target_.begin() + first, target_.begin() + first + rows * sample_.count());
    }
    BatchView view{.sources = {{.node = at, .outputs = {data.data(), target.data()}}}, .samples = {}, .valid = batch};
    return program.run(view, {.step = number, .global_batch = batch, .rate = rate});
  }

 protected:
  static constexpr double rate = 1.0 / 64;
  plan::Partition partition_;
  std::optional<Meeting> meeting_;
  std::vector<std::unique_ptr<Worker>> workers_;
  int frames_ = 1;
};

struct Scheme {
  std::string name;
  std::uint32_t workers = 2;
  std::vector<config::Layer> layers;
};

class OfANetTest : public PartitionTest, public testing::WithParamInterface<Scheme> {};

TEST_P(OfANetTest, GivesTheStepsOfOneWorker) {
  sample_ = {6};
  std::mt19937 draws(1);
  ASSERT_NO_FATAL_FAILURE(divide(GetParam().layers, GetParam().workers));
  steps(5, draws);
}

config::Layer relu(const std::string& name, const std::string& from) { return layer(name, "relu", {from}); }

INSTANTIATE_TEST_SUITE_P(
    Schemes, OfANetTest,
    testing::Values(
        Scheme{"by_features",
               2,
               {by(source(), "none"), by(dense("low", "data", 6), "features"), by(relu("act", "low"), "features"),
                by(dense("high", "act", 6), "features"), by(loss("high"), "none")}},
        Scheme{"by_inputs",
               3,
               {by(source(), "none"), by(dense("low", "data", 6), "inputs"), by(relu("act", "low"), "none"),
                by(dense("high", "act", 6), "inputs"), by(loss("high"), "none")}},
        Scheme{"features_then_inputs",
               2,
               {by(source(), "none"), by(dense("low", "data", 6), "features"), by(relu("act", "low"), "features"),
                by(dense("high", "act", 6), "inputs"), by(loss("high"), "none")}},
        Scheme{"layers_on_workers",
               3,
               {on(source(), {0}), on(dense("low", "data", 6), {0}), on(relu("act", "low"), {1}),
                on(dense("high", "act", 6), {1}), on(loss("high"), {2})}},
        Scheme{"rows_around_placed",
               3,
               {by(source(), "batch"), on(dense("low", "data", 6), {1}), by(relu("act", "low"), "batch"),
                by(dense("high", "act", 6), "features"), by(loss("high"), "batch")}},
        Scheme{"a_grid",
               4,
               {by(source(), "none"), by(dense("low", "data", 6), "features"),
                in_grid(relu("act", "low"), {0, 1}, {2, 2}), by(dense("high", "act", 6), "features"),
                by(loss("high"), "none")}},
        Scheme{"two_readers",
               2,
               {on(source(), {0}), by(dense("low", "data", 6), "features"), on(relu("left", "low"), {0}),
                by(relu("right", "low"), "features"), by(layer("sum", "add", {"left", "right"}), "batch"),
                by(dense("high", "sum", 6), "inputs"), by(loss("high"), "none")}}),
    [](const auto& info) { return info.param.name; });

using Splits = std::map<std::string, std::vector<std::string>>; // by type of layer

// Cuts each layer, places it on a worker or leaves it whole.
std::vector<config::Layer> divided(std::vector<config::Layer> layers, const Splits& splits, std::uint32_t workers,
                                   std::mt19937& draws) {
  for (auto& one : layers) {
    const auto& names = splits.at(one.type);
    // Both axes: only of layers without params.
    const bool has_grid =
        std::ranges::find(names, "features") != names.end() && std::ranges::find(names, "batch") != names.end();
    if (draws() % 4 == 0)
      one = on(std::move(one), {static_cast<std::int64_t>(draws() % workers)});
    else if (workers == 4 && has_grid && draws() % 3 == 0)
      one = in_grid(std::move(one), {0, 1}, {2, 2});
    else
      one = by(std::move(one), names[draws() % names.size()]);
  }
  return layers;
}

// Names each layer's type, sources and division.
std::string described(const std::vector<config::Layer>& layers) {
  std::string text;
  for (const auto& one : layers) {
    text += concat("\n  ", one.name, " (", one.type, ")");
    for (const auto& src : one.src) text += concat(" ", src.layer);
    if (one.scheme) text += concat(", ", one.scheme->split.empty() ? "grid" : one.scheme->split);
    for (const auto worker : one.location) text += concat(", on ", worker);
  }
  return text;
}

// Params have one holder, or copies: a layer with params is not cut by rows.
TEST_F(PartitionTest, OfDrawnNetsGivesTheStepsOfOneWorker) {
  sample_ = {6};
  const Splits splits{{"source", {"batch", "none"}},           {"dense", {"features", "inputs", "none"}},
                      {"relu", {"features", "batch", "none"}}, {"add", {"features", "batch", "none"}},
                      {"flatten", {"batch", "none"}},          {"euclidean_loss", {"batch", "none"}}};
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(concat("seed ", seed));
    std::mt19937 draws(seed);
    const std::uint32_t workers = 2 + draws() % 3;
    const auto layers = divided(test::drawn_net(draws, {"dense", "relu", "add", "flatten"}, 6), splits, workers, draws);
    const int frames = workers == 2 && draws() % 2 == 0 ? 2 : 1;
    SCOPED_TRACE(concat(workers, " workers, ", frames, " frames", described(layers)));
    ASSERT_NO_FATAL_FAILURE(divide(layers, workers, frames));
    ASSERT_NO_FATAL_FAILURE(steps(3, draws));
  }
}

// Chains of layers that keep the shape of a picture.
std::vector<config::Layer> drawn_chain(std::mt19937& draws) {
  const auto number = [](const char* key, std::int64_t value) { return option(key, value); };
  std::vector<config::Layer> chain{source()};
  for (std::size_t count = 2 + draws() % 5; chain.size() <= count;) {
    const std::string name = concat("layer", chain.size()), &from = chain.back().name;
    switch (draws() % 4) {
    case 0:
      chain.push_back(
          layer(name, "convolution", {from}, {number("filters", 4), number("kernel", 3), number("pad", 1)}));
      break;
    case 1:
      chain.push_back(layer(name, "pooling", {from}, {number("kernel", 3), number("stride", 1), number("pad", 1)}));
      break;
    case 2: chain.push_back(layer(name, "relu", {from})); break;
    default: chain.push_back(layer(name, "add", {from, chain[draws() % chain.size()].name})); break;
    }
  }
  chain.push_back(loss(chain.back().name));
  return chain;
}

TEST_F(PartitionTest, OfDrawnChainsOfPicturesGivesTheStepsOfOneWorker) {
  sample_ = {4, 5, 5};
  const Splits splits{{"source", {"batch", "none"}},           {"convolution", {"features", "inputs", "none"}},
                      {"relu", {"features", "batch", "none"}}, {"add", {"features", "batch", "height", "none"}},
                      {"pooling", {"features", "batch"}},      {"euclidean_loss", {"batch", "none"}}};
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(concat("seed ", seed));
    std::mt19937 draws(seed);
    const std::uint32_t workers = 2 + draws() % 2 * 2;
    const auto chain = divided(drawn_chain(draws), splits, workers, draws);
    SCOPED_TRACE(concat(workers, " workers", described(chain)));
    ASSERT_NO_FATAL_FAILURE(divide(chain, workers));
    ASSERT_NO_FATAL_FAILURE(steps(2, draws));
  }
}

} // namespace
} // namespace dlhost::program
