#!/usr/bin/env python3
"""comment_examples.py COMPILER GENERATED: the examples in the comments of the SDK's headers compile. GENERATED: the
folder of the generated headers."""
import pathlib
import re
import subprocess
import sys

compiler, generated = sys.argv[1:]
sdk = pathlib.Path(__file__).resolve().parents[2] / "core/sdk"
LAYER = """
  Status setup(Setup&) override { return {}; }
  Status prepare(Prepare&) override { return {}; }
  void compute_feature(const Pass&, Frame&) const override {}
"""
# What stands around the example of a header; {} is the example.
AROUND = {
    "algorithm.h": "#include <ranges>\nusing namespace dlhost;\nclass Example : public Algorithm {{\n{}\n}};",
    "expression.h": "using namespace dlhost;\nvoid example() {{\n{}\n}}",
    "plugin.h": "#include <dlhost/layer.h>\nusing namespace dlhost;\n{}",
    "schema.h": "using namespace dlhost;\nstruct Example {{\n{}\n}};",
}
failed = False
for header in sorted(sdk.glob("dlhost/*.h")):
    paragraphs = re.findall(r"(?:^//   .*\n)+", header.read_text(), re.MULTILINE)
    examples = [text for text in paragraphs if re.search(r"[;{]$", text, re.MULTILINE)]  # others are tables
    if not examples and header.name not in AROUND:
        continue
    if not examples or header.name not in AROUND:
        sys.exit(f"{header}: its examples and AROUND in {__file__} do not agree")
    text = re.sub(r"^//", "", "".join(examples), flags=re.MULTILINE).replace("...", LAYER)
    source = f"#include <dlhost/{header.name}>\n{AROUND[header.name].format(text)}\n"
    done = subprocess.run([compiler, "-std=c++20", "-fPIC", "-fsyntax-only", f"-I{sdk}", f"-I{generated}", "-x", "c++", "-"],
                          input=source, text=True)
    if done.returncode:
        print(f"the example in {header} does not compile with {compiler}")
        failed = True
sys.exit(failed)
