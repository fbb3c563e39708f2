#include "run/memory/awaited.h"

#include <dlhost/status.h>

namespace dlhost::run {
namespace {

struct Words {
  std::string_view what, who; // `who`: the role of the awaited worker
};

Words words_of(Awaited::What what) {
  using What = Awaited::What;
  switch (what) {
  case What::nothing: break;
  case What::param: return {"param", ", its server"};
  case What::contribution: return {"param", ", which has not contributed to it"};
  case What::norm: return {"param", ", whose server has not sent its norm"};
  case What::sum: return {"param", ", whose server has not sent its sums"};
  case What::exchange: return {"the exchange with other server groups of param", ", whose part has not arrived"};
  case What::beginning: return {"the common first values", ", which leads the run"};
  case What::step: return {"the next step", ", its leader"};
  case What::parts: return {"the end of the step", ", which it leads"};
  case What::rest: return {"all workers to pause", ", which has not paused"};
  case What::permission: return {"permission to go on", ", for which it pauses"};
  case What::answers: return {"servers to answer", ", the first that has not answered"};
  case What::steps: return {"the other groups' last steps", ", the first that has not made them"};
  case What::sums: return {"the sums of gradients, which all devices make together", ""};
  case What::loan: return {"", ", which has not lent it"};
  case What::readers: return {"others to have read ", ", which has not read it"};
  case What::input: return {"its input", ""};
  }
  return {};
}

} // namespace

std::string in_words(const Awaited& awaited, std::string_view name) {
  const auto [what, who] = words_of(awaited.what);
  std::string words(what);
  if (awaited.is_of_param()) words += concat(" '", name, "'");
  if (awaited.is_of_transfer()) words += name;
  if (awaited.seat != Awaited::nobody) words += concat(" on worker ", awaited.seat, who);
  return words;
}

} // namespace dlhost::run
