// A library, but no plugin.
int answer() { return 42; }
