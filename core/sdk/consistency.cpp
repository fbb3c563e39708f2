#include <dlhost/consistency.h>

namespace dlhost {

// The defaults suit handlers that decide only on get and update.
void Consistency::on_put(SliceState&) {}
UpdateVerdict Consistency::on_member(SliceState&) { return {}; }
Nanoseconds Consistency::next_timer(const SliceState&) const { return 0; }
UpdateVerdict Consistency::on_timer(SliceState&) { return {}; }
float Consistency::weight_at_pause(const SliceState&) const { return 1; }

} // namespace dlhost
