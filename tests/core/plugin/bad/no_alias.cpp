// A stamp without the alias and its descriptor. Must be refused, also if it is linked with a library that has both
// (HELD).
#include "body.h"

extern const dlhost::StampNote stamp;
[[gnu::section(".note.dlhost"), gnu::used]] constinit const dlhost::StampNote stamp =
    dlhost::detail::make_stamp<Bad>("1.0");

#ifdef HELD
int answer();
int answer_again() { return answer(); }
#endif
