// Sources: a sample is a function of the phase and its number alone, for any reader, order and number of tasks. Resumed
// runs, other numbers of readers, and evaluation depend on this.
#include <algorithm>
#include <thread>

#include <dlhost/source.h>

#include "device/lab.h"
#include "kinds/kinds.h"
#include "kinds/samples.h"

namespace dlhost::conform {

namespace {

constexpr Phase phases[] = {Phase::train, Phase::validate, Phase::test};
using Sample = std::vector<std::vector<std::byte>>; // by output

// An opened source after setup.
class Opened {
 public:
  Opened(const Context& context, const LayerCase& of) : layer_(context.make<Layer>(of.layer, of.options)) {
    source_ = dynamic_cast<Source*>(layer_.get());
    if (!source_) throw std::runtime_error("it is no source, though it takes no input");
    need(source_->open(context.host, of.folder));
    outputs_ = set_up(Phase::train).outputs;
  }

  Setup set_up(Phase phase, std::int64_t batch = 1) {
    Setup setup;
    setup.phase = phase;
    setup.batch = batch;
    need(source_->setup(setup));
    return setup;
  }
  const std::vector<Port>& outputs() const { return outputs_; }
  std::int64_t count(Phase phase) const { return source_->count(phase); }

  // Reads into memory filled with `before`, with a guard after each output.
  Sample read(Phase phase, std::int64_t index, std::byte before = std::byte{0x5a}) const {
    constexpr std::size_t guard = 64;
    Sample sample;
    std::vector<std::byte*> places;
    for (const Port& port : outputs_) sample.emplace_back(port.desc.plain_bytes() + guard, before);
    for (auto& bytes : sample) places.push_back(bytes.data());
    need(source_->read(phase, index, places));
    for (auto& bytes : sample) {
      const auto behind = std::span(bytes).last(guard);
      if (std::ranges::any_of(behind, [&](std::byte one) { return one != before; }))
        throw std::runtime_error(concat("sample ", index, ": it writes behind the place that it was given"));
      bytes.resize(bytes.size() - guard);
    }
    return sample;
  }

  // Samples of all phases: first, last and some between.
  std::vector<std::pair<Phase, std::int64_t>> some() const {
    constexpr std::int64_t most = 24;
    std::vector<std::pair<Phase, std::int64_t>> found;
    for (const Phase phase : phases)
      for (std::int64_t i = 0; i < std::min(count(phase), most); ++i)
        found.emplace_back(phase, count(phase) <= most ? i : i * (count(phase) - 1) / (most - 1));
    return found;
  }
  std::vector<Sample> read_all(const std::vector<std::pair<Phase, std::int64_t>>& which) const {
    std::vector<Sample> samples;
    for (const auto& [phase, index] : which) samples.push_back(read(phase, index));
    return samples;
  }

 private:
  std::unique_ptr<Layer> layer_;
  Source* source_ = nullptr;
  std::vector<Port> outputs_;
};

void says_what_it_brings(const Context& context, const LayerCase& of) {
  Opened source(context, of);
  ASSERT_FALSE(source.outputs().empty());
  bool any = false;
  for (const Phase phase : phases) {
    EXPECT_GE(source.count(phase), 0);
    any = any || source.count(phase) > 0;
    const Setup again = source.set_up(phase);
    EXPECT_FALSE(again.has_gradient) << "nothing learns behind a source";
    ASSERT_EQ(again.outputs.size(), source.outputs().size()) << "setup says another thing in another phase";
    for (std::size_t o = 0; o < again.outputs.size(); ++o) {
      EXPECT_EQ(again.outputs[o].name, source.outputs()[o].name);
      EXPECT_EQ(again.outputs[o].desc, source.outputs()[o].desc);
      EXPECT_TRUE(again.outputs[o].desc.format.is_plain());
      for (const std::int64_t dim : again.outputs[o].desc.shape) EXPECT_GE(dim, 1);
    }
  }
  EXPECT_TRUE(any) << "no phase has a sample: give the case some";
}

// Setup declares one sample; core adds the batch axis in front.
void declares_one_sample(const Context& context, const LayerCase& of) {
  Opened source(context, of);
  for (const std::int64_t batch : {2, 7}) {
    const Setup again = source.set_up(Phase::train, batch);
    ASSERT_EQ(again.outputs.size(), source.outputs().size());
    for (std::size_t o = 0; o < again.outputs.size(); ++o)
      EXPECT_EQ(to_string(again.outputs[o].desc.shape), to_string(source.outputs()[o].desc.shape))
          << "output '" << again.outputs[o].name
          << "' changes with the batch: declare one sample, without the batch axis";
  }
}

void fills_its_outputs(const Context& context, const LayerCase& of) {
  const Opened source(context, of);
  for (const auto& [phase, index] : source.some())
    EXPECT_EQ(source.read(phase, index, std::byte{0}), source.read(phase, index, std::byte{0xff}))
        << "of sample " << index << " some bytes stay as they were";
}

void order_changes_nothing(const Context& context, const LayerCase& of) {
  const Opened source(context, of);
  const auto which = source.some();
  const auto forth = source.read_all(which);
  auto back_to_front = which;
  std::ranges::reverse(back_to_front);
  auto back = source.read_all(back_to_front);
  std::ranges::reverse(back);
  EXPECT_EQ(forth, back);
}

// Like after a resume: the second source has not read the earlier samples.
void another_object_brings_the_same(const Context& context, const LayerCase& of) {
  const Opened first(context, of), second(context, of);
  const auto which = first.some();
  const auto all = first.read_all(which);
  for (const Phase phase : phases) ASSERT_EQ(first.count(phase), second.count(phase));
  for (std::size_t i = which.size(); i-- > 0;)
    EXPECT_EQ(second.read(which[i].first, which[i].second), all[i]) << "sample " << which[i].second;
}

void many_tasks_read_at_once(const Context& context, const LayerCase& of) {
  constexpr std::size_t tasks = 4, rounds = 5;
  const Opened source(context, of);
  const auto which = source.some();
  const auto alone = source.read_all(which);
  std::vector<std::string> wrong(tasks);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < tasks; ++t)
    threads.emplace_back([&, t] {
      try {
        for (std::size_t i = 0; i < rounds * which.size(); ++i) {
          const std::size_t at = (i + t * which.size() / tasks) % which.size();
          if (source.read(which[at].first, which[at].second) != alone[at])
            wrong[t] = concat("sample ", which[at].second, " is another one when several tasks read");
        }
      } catch (const std::exception& thrown) {
        wrong[t] = thrown.what();
      }
    });
  for (auto& thread : threads) thread.join();
  for (const auto& what : wrong) EXPECT_EQ(what, "");
}

} // namespace

void add_source_case(const Context& context, const LayerCase& of) {
  add_layer_check(of, "says_what_it_brings", context, says_what_it_brings);
  add_layer_check(of, "declares_one_sample", context, declares_one_sample);
  add_layer_check(of, "fills_its_outputs", context, fills_its_outputs);
  add_layer_check(of, "order_changes_nothing", context, order_changes_nothing);
  add_layer_check(of, "another_object_brings_the_same", context, another_object_brings_the_same);
  add_layer_check(of, "many_tasks_read_at_once", context, many_tasks_read_at_once);
}

} // namespace dlhost::conform
