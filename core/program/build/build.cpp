#include "program/build/build.h"

#include "program/build/layout.h"
#include "program/build/unit_builder.h"
#include "program/build/update_groups.h"

namespace dlhost::program {

Result<std::unique_ptr<Program>> build(BuildRequest request) {
  Device& device = *request.device;
  Updater::Rule rule;
  if (request.updater) rule = request.updater->rule();

  Slots slots(device);
  Links links(device, slots, request.training);
  Bridges bridges(request, slots, links);
  DLHOST_ASSIGN(auto units, UnitBuilder(request, slots, links, bridges).build());
  DLHOST_ASSIGN(auto steps, Expansion(request, units, links.all(), bridges, slots).run());
  std::vector<UpdateGroup> groups;
  if (!request.shared && device.traits().asynchronous) groups = group_updates(steps, units, rule, slots);
  if (request.others && !request.updates_at_the_end()) mark_settling(steps, units, slots);
  Layout layout(device, slots);
  layout.place(steps.replacements, static_cast<int>(steps.steps.size()));
  for (Borrowing& borrowing : steps.borrowings) // a source's memory is another with each batch
    if (borrowing.own != no_slot) borrowing.own = slots.root(borrowing.own);
  request.store->lay_out(request.updater ? &rule : nullptr);
  Footprint footprint = layout.footprint(units, links.all(), steps, *request.store);
  if (!steps.lent.empty()) footprint.lent = steps.lent.bytes[request.part.rank];

  auto program = std::make_unique<Program>(ProgramParts{.graph = std::move(request.graph),
                                                        .device = request.device,
                                                        .stream = request.stream,
                                                        .store = request.store,
                                                        .activity = request.activity,
                                                        .frames = request.record.frames,
                                                        .cut = request.record.cut,
                                                        .training = request.training,
                                                        .scales_loss = request.scales_loss,
                                                        .slots = std::move(slots),
                                                        .units = std::move(units),
                                                        .links = links.take(),
                                                        .unit_frames = std::move(steps.frames),
                                                        .steps = std::move(steps.steps),
                                                        .calls = std::move(steps.calls),
                                                        .ops = std::move(steps.ops),
                                                        .loans = std::move(steps.loans),
                                                        .borrowings = std::move(steps.borrowings),
                                                        .updated = std::move(steps.updated),
                                                        .footprint = std::move(footprint)});
  if (!request.make) return program;
  if (request.admit) DLHOST_TRY(request.admit(*program));
  DLHOST_TRY(program->open({.updater = request.updater,
                            .actor = request.updater_actor,
                            .rule = std::move(rule),
                            .settings = request.update_settings,
                            .clip_norm = request.clip_norm,
                            .groups = std::move(groups),
                            .sharing = request.sharing,
                            .others = request.others,
                            .crosses_beside = request.crosses_beside,
                            .boxes = request.part.boxes,
                            .lent = std::move(steps.lent)}));
  return program;
}

} // namespace dlhost::program
