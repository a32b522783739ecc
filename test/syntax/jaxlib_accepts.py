#!/usr/bin/env python3
"""Checks that jaxlib's own parser and verifier accept what Ullage's writer prints.

    jaxlib_accepts.py WRITER [FILE...]

WRITER is a command that reads a program from its standard input and prints it, e.g.
"build/release/bin/ullage opt --to verify -". Without FILE, all programs of the shared folder are taken (ULLAGE_SHARED, or
../shared beside the repository). A program that jaxlib itself cannot read (it has no quantized types) is skipped. Without
jaxlib or programs the check is skipped with exit code 77.
"""

import glob
import os
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
    context.allow_unregistered_dialects = True  # check.expect_eq and its like

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
    r"|(?:arg|res)_attrs = \[{}(?:, {})*\]"
    r'|stablehlo\.mesh = {[^\[]*\[[^\]]*\][^}]*}|sym_visibility = "public"'
)


def canonical(module):
    text = module.operation.get_asm(print_generic_op_form=True, large_elements_limit=None)
    text = DEFAULTS.sub("", text)
    text = re.sub(r"dense<[^>]*> : tensor<((?:\d+x)*0x)", r"dense<> : tensor<\1", text)  # no elements at all
    for pattern, replacement in ((r"(?:, )+(?=, |}|>)", ""), (r"(?<=[{<])(?:, )+", ""), (r" ?<?{}>?(?= :| \()", "")):
        text = re.sub(pattern, replacement, text)
    return text


# These break constraint C2 of dynamic_conv (two window strides for one spatial dimension), which jaxlib does not check.
REFUSED = {"conv_general_dilated_1d_stride_2_even_dynamic.mlir", "conv_general_dilated_1d_stride_2_odd_dynamic.mlir"}


def shared_programs():
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    shared = os.environ.get("ULLAGE_SHARED", os.path.join(source, "..", "shared"))
    return sorted(glob.glob(os.path.join(shared, "conformance", "**", "*.mlir"), recursive=True)
                  + glob.glob(os.path.join(shared, "programs", "*", "program*.mlir")))


def problem_of(parse, writer, original):
    """What is wrong with how one module is written; None if nothing is, "skipped" where jaxlib reads neither text."""
    try:
        before = canonical(parse(original))
    except Exception:
        before = None
    written = subprocess.run(writer, input=original, capture_output=True, text=True, check=False)
    if written.returncode != 0:
        return f"the writer failed: {written.stderr.strip()}"
    try:
        after = canonical(parse(written.stdout))
    except Exception as problem:
        return "skipped" if before is None else str(problem).strip()
    if before is None or before == after:
        return None
    lines = zip(before.splitlines(), after.splitlines())
    a, b = next(((a, b) for a, b in lines if a != b), ("", "another number of lines"))
    return f"reads differently\n  was {a.strip()[:300]}\n  now {b.strip()[:300]}"


def main():
    if len(sys.argv) < 2:
        print(__doc__)
        return 1
    parse = parser()
    writer = shlex.split(sys.argv[1])
    files = sys.argv[2:] or shared_programs()
    if not files:
        print("skipped: no programs")
        return 77
    accepted = failed = skipped = 0
    for file in files:
        with open(file, encoding="utf-8") as stream:
            modules = re.split(r"^// -----.*$", stream.read(), flags=re.MULTILINE)
        problems = [problem_of(parse, writer, module) for module in modules]
        if os.path.basename(file) in REFUSED:
            problems = [None if problem and "(C2)" in problem else "is not refused" for problem in problems]
        wrong = [problem for problem in problems if problem not in (None, "skipped")]
        for problem in wrong:
            print(f"{file}: {problem}")
        if wrong:
            failed += 1
        elif "skipped" in problems:
            skipped += 1
        else:
            accepted += 1
    print(f"{accepted} accepted, {failed} failed, {skipped} skipped")
    return 3 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
