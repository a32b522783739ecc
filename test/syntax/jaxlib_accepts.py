#!/usr/bin/env python3
"""Checks that jaxlib's own parser and verifier accept what Ullage's writer prints.

    jaxlib_accepts.py WRITER FILE...

WRITER is a command that is given the name of a program and prints it to its standard output, e.g.
"build/release/bin/ullage opt". Without jaxlib the check is skipped with exit code 77.
"""

import re
import shlex
import subprocess
import sys


def parser():
    try:
        from jax._src.interpreters import mlir as jax_mlir
        from jaxlib.mlir import ir
    except ImportError:
        print("skipped: jaxlib is not installed")
        sys.exit(77)
    context = jax_mlir.make_ir_context()  # with the StableHLO, CHLO and Shardy dialects

    def parse(text):
        with context, ir.Location.unknown():
            return ir.Module.parse(text)

    return parse


# Attributes that say what is true without them, which the writer leaves out.
DEFAULTS = re.compile(
    r'(?:indices_are_sorted|unique_indices|is_stable|has_side_effect) = false|backend_config = ""'
    r"|api_version = 1 : i32|dimension = -1 : i64|lower = false|version = 0 : i32|largest = true"
    r"|precision_config = \[#stablehlo<precision DEFAULT>(?:, #stablehlo<precision DEFAULT>)*\]"
    r"|(?:base_dilations|window_dilations|window_strides|lhs_dilation|rhs_dilation) = array<i64: 1(?:, 1)*>"
    r"|window_reversal = array<i1: false(?:, false)*>|padding = dense<0> : tensor<\d+x2xi64>"
    r'|stablehlo\.mesh = {[^\[]*\[[^\]]*\][^}]*}|sym_visibility = "public"'
)


def canonical(module):
    text = module.operation.get_asm(print_generic_op_form=True, large_elements_limit=None)
    text = DEFAULTS.sub("", text)
    text = re.sub(r"dense<[^>]*> : tensor<((?:\d+x)*0x)", r"dense<> : tensor<\1", text)  # no elements at all
    for pattern, replacement in ((r"(?:, )+(?=, |}|>)", ""), (r"(?<=[{<])(?:, )+", ""), (r" ?<?{}>?(?= :| \()", "")):
        text = re.sub(pattern, replacement, text)
    return text


def main():
    if len(sys.argv) < 3:
        print(__doc__)
        return 1
    parse = parser()
    writer = shlex.split(sys.argv[1])
    failed = skipped = 0
    for file in sys.argv[2:]:
        with open(file, encoding="utf-8") as stream:
            original = stream.read()
        try:
            before = [canonical(parse(part)) for part in original.split("// -----")]
        except Exception:  # a dialect of test tools, or a form jaxlib no longer reads
            before = None
        written = subprocess.run(writer + [file], capture_output=True, text=True)
        if written.returncode != 0:
            print(f"{file}: the writer failed: {written.stderr.strip()}")
            failed += 1
            continue
        try:
            after = [canonical(parse(part)) for part in written.stdout.split("// -----")]
        except Exception as problem:
            if before is None:
                skipped += 1
                continue
            print(f"{file}: {str(problem).strip()}")
            failed += 1
            continue
        if before is not None and before != after:
            for a, b in zip("\n".join(before).splitlines(), "\n".join(after).splitlines()):
                if a != b:
                    print(f"{file}: reads differently\n  was {a.strip()[:300]}\n  now {b.strip()[:300]}")
                    break
            failed += 1
    print(f"{len(sys.argv) - 2 - failed - skipped} accepted, {failed} failed, {skipped} skipped")
    return 3 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
