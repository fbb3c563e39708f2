// Ends that nobody ordered: code of a plugin, or of a library that it brought, ends this process. That is a failure,
// whatever status it gives; it is told as a crash is.
#pragma once

namespace dlhost::plugin {

// Once, by main: what runs at the end of a process sees whether that end was ordered.
void install_exit_guard();
// By main, when all is done: the process ends with this status. What libraries run at exit has a limit from here on.
void order_end(int status);
// `call` ("exit") was called with `status`, by the code at `caller`. Returns where that is nobody's fault: a forked
// child that ends, or code of this program.
void judge_exit(const char* call, int status, const void* caller);

} // namespace dlhost::plugin
