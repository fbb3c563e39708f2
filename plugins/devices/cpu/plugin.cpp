#include <dlhost/plugin.h>

#include "cpu.h"

DLHOST_PLUGIN("1.0", dlhost::plugins::cpu::Cpu);
