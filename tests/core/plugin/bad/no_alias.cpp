// A stamp without the alias and the descriptor behind it. Linked with a library that has both (HELD), it must still be
// refused.
#include "body.h"

extern const dlhost::StampNote stamp;
[[gnu::section(".note.dlhost"), gnu::used]] constinit const dlhost::StampNote stamp =
    dlhost::detail::make_stamp<Bad>("1.0");

#ifdef HELD
int answer();
int answer_again() { return answer(); }
#endif
