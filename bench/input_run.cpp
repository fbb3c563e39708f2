#include "input_run.h"

#include <dlhost/partition.h>

namespace dlhost::bench {

Result<std::unique_ptr<Source>> open(const std::string& type, Table options) {
  DLHOST_ASSIGN(auto made, Inputs::host().make(Kind::layer, Part{type, std::move(options)}));
  std::unique_ptr<Source> source(dynamic_cast<Source*>(made.get()));
  if (!source) return Status::internal(type, " is no source");
  (void)made.release();
  DLHOST_TRY(source->open(Inputs::host(), ""));
  return source;
}

void feed(benchmark::State& state, Source& source, std::span<const Part> augmentations) {
  Setup setup;
  if (const Status status = source.setup(setup); !status.ok()) return state.SkipWithError(status.message().c_str());
  auto augment = net::Augment::make(Inputs::host(), augmentations, setup.outputs[0].desc);
  if (!augment.ok()) return state.SkipWithError(augment.status().message().c_str());
  auto feeder = run::Feeder::make(Inputs::host(), source, setup.outputs, *augment,
                                  {.sampling = {.batch = 64}, .readers = static_cast<int>(state.range(0))});
  if (!feeder.ok()) return state.SkipWithError(feeder.status().message().c_str());
  const std::uint64_t steps = (*feeder)->sampling().steps(1);
  const auto epoch = [&] {
    for (std::uint64_t i = 0; i < steps; ++i)
      if (auto batch = (*feeder)->next(); !batch.ok()) return state.SkipWithError(batch.status().message().c_str());
  };
  epoch();
  for (auto _ : state) epoch();
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(steps) * 64);
}

} // namespace dlhost::bench
