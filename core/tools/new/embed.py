#!/usr/bin/env python3
"""embed.py OUTPUT INPUT...: C++ that holds the text of each INPUT, by its name without `.in`."""
import pathlib
import sys

output, *inputs = map(pathlib.Path, sys.argv[1:])
lines = ['#include "tools/new/templates.h"', "", "namespace dlhost::tools {", "", "const Template templates[] = {"]
for path in inputs:
    lines.append(f'    {{"{path.name.removesuffix(".in")}", R"~~~({path.read_text()})~~~"}},')
lines += ["};", "const std::size_t template_count = sizeof templates / sizeof *templates;", "", "} // namespace dlhost::tools"]
output.write_text("\n".join(lines) + "\n")
