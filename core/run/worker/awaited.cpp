#include "run/worker/awaited.h"

#include <dlhost/status.h>

namespace dlhost::run {
namespace {

struct Words {
  std::string_view what, who; // whoever it waits on
};

Words words_of(Awaited::What what) {
  using What = Awaited::What;
  switch (what) {
  case What::nothing: break;
  case What::param: return {"param", ", its server"};
  case What::contribution: return {"param", ", which has not contributed to it"};
  case What::norm: return {"param", ", whose server has not said its norm"};
  case What::sum: return {"param", ", whose server has not said its sums"};
  case What::exchange: return {"the exchange with other server groups of param", ", whose part has not come"};
  case What::beginning: return {"what all begin with", ", which leads the run"};
  case What::step: return {"the next step", ", its leader"};
  case What::parts: return {"the end of the step", ", whom it leads"};
  case What::rest: return {"all to stand still", ", which does not yet"};
  case What::word: return {"the word to go on", ", for whom it stands still"};
  case What::answers: return {"servers to answer", ", the first that has not"};
  case What::steps: return {"the other groups' last steps", ", the first that has not made them"};
  case What::sums: return {"the sums of gradients, which all devices make together", ""};
  case What::input: return {"its input", ""};
  }
  return {};
}

} // namespace

std::string in_words(const Awaited& awaited, std::string_view param) {
  const auto [what, who] = words_of(awaited.what);
  std::string words(what);
  if (awaited.is_of_param()) words += concat(" '", param, "'");
  if (awaited.seat != Awaited::nobody) words += concat(" on worker ", awaited.seat, who);
  return words;
}

} // namespace dlhost::run
