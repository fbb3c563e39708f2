#include <dlhost/algorithm.h>

namespace dlhost {

Node::~Node() = default;
NetView::~NetView() = default;

} // namespace dlhost
