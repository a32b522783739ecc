"""Compile time of programs of one operation, in milliseconds: Ullage in a fresh process each, XLA:CPU in one warm process.

    one_operation.py [--ullage build/release/bin/ullage] [--limit 3] [PATTERN ...]

PATTERN is a regular expression over the names. Ullage's figure is the least of three `compile_seconds`. The Python that runs
this script must have jax==0.10.2 and jaxlib==0.10.2; without them only Ullage's own figures are printed.
"""
import argparse
import json
import math
import os
import re
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
UNARY = ["abs", "cbrt", "ceil", "cosine", "exponential", "exponential_minus_one", "floor", "log", "log_plus_one", "logistic",
         "negate", "round_nearest_afz", "round_nearest_even", "rsqrt", "sign", "sine", "sqrt", "tan", "tanh"]
BINARY = ["add", "atan2", "divide", "maximum", "minimum", "multiply", "power", "remainder", "subtract"]
BITS = ["and", "or", "xor", "shift_left", "shift_right_arithmetic", "shift_right_logical"]


def programs():
    """Name and text of each."""
    out = {}

    def add(name, arguments, result, *lines):
        """Arguments are zeros."""
        head = ", ".join(f"%{k}: tensor<{t}>" for k, t in arguments.items())
        body = "\n".join("  " + line for line in lines)
        text = f"func.func public @main({head}) -> tensor<{result}> {{\n{body}\n  return %r : tensor<{result}>\n}}\n"
        inputs = []
        for type_ in arguments.values():
            shape, dtype = re.fullmatch("((?:[0-9]+x)*)(.*)", type_).groups()
            inputs.append({"shape": [int(d) for d in shape.split("x")[:-1]], "fill": "const", "value": 0,
                           "dtype": {"complex<f32>": "c64"}.get(dtype, dtype)})
        out[name] = text, {"inputs": inputs, "outputs": []}

    def simple(name, op, arguments, result, attributes=""):
        types = ", ".join(f"tensor<{t}>" for t in arguments.values())
        operands = ", ".join(f"%{k}" for k in arguments)
        add(name, arguments, result, f"%r = stablehlo.{op} {operands}{attributes} : ({types}) -> tensor<{result}>")

    for dtype in ("f32", "f64", "bf16", "f16"):
        t = f"70x900x{dtype}"
        for op in UNARY:
            simple(f"{op}_{dtype}", op, {"a": t}, t)
        for op in BINARY:
            simple(f"{op}_{dtype}", op, {"a": t, "b": t}, t)
        simple(f"compare_{dtype}", "compare LT,", {"a": t, "b": t}, "70x900xi1", ", FLOAT")
        simple(f"is_finite_{dtype}", "is_finite", {"a": t}, "70x900xi1")
        simple(f"clamp_{dtype}", "clamp", {"a": dtype, "b": t, "c": dtype}, t)
    for dtype in ("i32", "ui32", "i64", "i8", "ui8"):
        t = f"70x900x{dtype}"
        for op in BITS + [b for b in BINARY if b not in ("atan2", "power")]:
            simple(f"{op}_{dtype}", op, {"a": t, "b": t}, t)
        for op in ("not", "popcnt", "count_leading_zeros"):
            simple(f"{op}_{dtype}", op, {"a": t}, t)
        simple(f"compare_{dtype}", "compare LT,", {"a": t, "b": t}, "70x900xi1")
    for a in ("f32", "f64", "bf16", "f16", "i32", "i64", "i8", "ui8", "i1"):
        for b in ("f32", "bf16", "i32"):
            if a != b:
                simple(f"convert_{a}_{b}", "convert", {"a": f"70x900x{a}"}, f"70x900x{b}")
    def with_constant(name, op, value, dtype, result=None, attributes=""):
        t, r = f"tensor<70x900x{dtype}>", f"70x900x{result or dtype}"
        add(f"{name}_{dtype}", {"a": t[7:-1]}, r, f"%c = stablehlo.constant dense<{value}> : {t}",
            f"%r = stablehlo.{op} %a, %c{attributes} : ({t}, {t}) -> tensor<{r}>")
    for dtype in ("f32", "bf16"):
        for op, value in (("add", "2.5"), ("multiply", "-0.3"), ("divide", "7.0"), ("maximum", "0.0"), ("power", "3.0")):
            with_constant(f"{op}_constant", op, value, dtype)
        with_constant("compare_constant", "compare GT,", "0.5", dtype, "i1", ", FLOAT")
        add(f"reduce_from_constant_{dtype}", {"a": f"210x340x{dtype}"}, f"210x{dtype}", f"%z = stablehlo.constant dense<0.0> : tensor<{dtype}>",
            "%r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : "
            f"(tensor<210x340x{dtype}>, tensor<{dtype}>) -> tensor<210x{dtype}>")
        add(f"pad_constant_{dtype}", {"a": f"210x340x{dtype}"}, f"212x342x{dtype}", f"%z = stablehlo.constant dense<0.0> : tensor<{dtype}>",
            f"%r = stablehlo.pad %a, %z, low = [1, 1], high = [1, 1], interior = [0, 0] : (tensor<210x340x{dtype}>, tensor<{dtype}>)"
            f" -> tensor<212x342x{dtype}>")
    with_constant("add_constant", "add", "17", "i32")
    with_constant("divide_constant", "divide", "7", "i32")
    simple("select", "select", {"p": "70x900xi1", "a": "70x900xf32", "b": "70x900xf32"}, "70x900xf32")
    simple("bitcast_f32_ui32", "bitcast_convert", {"a": "70x900xf32"}, "70x900xui32")
    simple("reduce_precision", "reduce_precision", {"a": "70x900xf32"}, "70x900xf32", ", format = e5m10")
    simple("complex", "complex", {"a": "70x900xf32", "b": "70x900xf32"}, "70x900xcomplex<f32>")
    simple("real", "real", {"a": "70x900xcomplex<f32>"}, "70x900xf32")
    c = "70x900xcomplex<f32>"
    simple("add_c64", "add", {"a": c, "b": c}, c)
    simple("multiply_c64", "multiply", {"a": c, "b": c}, c)

    for dtype in ("f32", "bf16"):
        simple(f"transpose_{dtype}", "transpose", {"a": f"210x340x{dtype}"}, f"340x210x{dtype}", ", dims = [1, 0]")
        simple(f"reverse_{dtype}", "reverse", {"a": f"210x340x{dtype}"}, f"210x340x{dtype}", ", dims = [0]")
        simple(f"reverse_last_{dtype}", "reverse", {"a": f"210x340x{dtype}"}, f"210x340x{dtype}", ", dims = [1]")
        simple(f"slice_{dtype}", "slice", {"a": f"210x340x{dtype}"}, f"90x250x{dtype}", " [10:100, 50:300]")
        simple(f"slice_strided_{dtype}", "slice", {"a": f"210x340x{dtype}"}, f"105x170x{dtype}", " [0:210:2, 0:340:2]")
        simple(f"concatenate_{dtype}", "concatenate", {"a": f"210x340x{dtype}", "b": f"70x340x{dtype}"},
               f"280x340x{dtype}", ", dim = 0")
        simple(f"concatenate_last_{dtype}", "concatenate", {"a": f"210x340x{dtype}", "b": f"210x90x{dtype}"},
               f"210x430x{dtype}", ", dim = 1")
        simple(f"pad_{dtype}", "pad", {"a": f"210x340x{dtype}", "z": dtype}, f"212x342x{dtype}",
               ", low = [1, 1], high = [1, 1], interior = [0, 0]")
        simple(f"pad_end_{dtype}", "pad", {"a": f"210x340x{dtype}", "z": dtype}, f"224x352x{dtype}",
               ", low = [0, 0], high = [14, 12], interior = [0, 0]")
        simple(f"broadcast_rows_{dtype}", "broadcast_in_dim", {"a": f"340x{dtype}"}, f"210x340x{dtype}", ", dims = [1]")
        simple(f"broadcast_columns_{dtype}", "broadcast_in_dim", {"a": f"210x{dtype}"}, f"210x340x{dtype}", ", dims = [0]")
        simple(f"dynamic_slice_{dtype}", "dynamic_slice", {"a": f"210x340x{dtype}", "i": "i32", "j": "i32"},
               f"90x250x{dtype}", ", sizes = [90, 250]")
        simple(f"dynamic_update_slice_{dtype}", "dynamic_update_slice",
               {"a": f"210x340x{dtype}", "u": f"12x340x{dtype}", "i": "i32", "j": "i32"}, f"210x340x{dtype}")
        add(f"add_bias_{dtype}", {"a": f"210x340x{dtype}", "b": f"340x{dtype}"}, f"210x340x{dtype}",
            f"%c = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<340x{dtype}>) -> tensor<210x340x{dtype}>",
            f"%r = stablehlo.add %a, %c : tensor<210x340x{dtype}>")
        add(f"gather_rows_{dtype}", {"a": f"210x340x{dtype}", "i": "48x1xi32"}, f"48x340x{dtype}",
            '%r = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],'
            f' start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 340>}}> : (tensor<210x340x{dtype}>,'
            f' tensor<48x1xi32>) -> tensor<48x340x{dtype}>')
        for kind in ("add", "maximum", "minimum", "multiply"):
            for name, dims, shape in (("rows", 1, "210x"), ("columns", 0, "340x"), ("all", None, "")):
                over = "[0, 1]" if dims is None else f"[{dims}]"
                add(f"reduce_{kind}_{name}_{dtype}", {"a": f"210x340x{dtype}", "z": dtype}, f"{shape}{dtype}",
                    f"%r = stablehlo.reduce(%a init: %z) applies stablehlo.{kind} across dimensions = {over} : "
                    f"(tensor<210x340x{dtype}>, tensor<{dtype}>) -> tensor<{shape}{dtype}>")
    for kind in ("and", "or"):
        add(f"reduce_{kind}", {"a": "210x340xi1", "z": "i1"}, "210xi1",
            f"%r = stablehlo.reduce(%a init: %z) applies stablehlo.{kind} across dimensions = [1] : "
            "(tensor<210x340xi1>, tensor<i1>) -> tensor<210xi1>")
    simple("transpose_batched", "transpose", {"a": "6x10x48x32xf32"}, "6x48x10x32xf32", ", dims = [0, 2, 1, 3]")
    simple("transpose_small", "transpose", {"a": "2x3xf32"}, "3x2xf32", ", dims = [1, 0]")
    simple("reshape", "reshape", {"a": "70x900xf32"}, "900x70xf32")
    add("iota_1", {}, "210x340xi32", "%r = stablehlo.iota dim = 1 : tensor<210x340xi32>")
    add("iota_0", {}, "210x340xf32", "%r = stablehlo.iota dim = 0 : tensor<210x340xf32>")
    add("constant", {}, "210x340xf32", "%r = stablehlo.constant dense<2.5> : tensor<210x340xf32>")
    add("argmax", {"a": "210x340xf32"}, "210xi32",
        "%i = stablehlo.iota dim = 1 : tensor<210x340xi32>", "%z = stablehlo.constant dense<0xFF800000> : tensor<f32>",
        "%n = stablehlo.constant dense<0> : tensor<i32>",
        "%m:2 = stablehlo.reduce(%a init: %z), (%i init: %n) across dimensions = [1] : (tensor<210x340xf32>, tensor<210x340xi32>,"
        " tensor<f32>, tensor<i32>) -> (tensor<210xf32>, tensor<210xi32>)",
        "  reducer(%p: tensor<f32>, %q: tensor<f32>) (%s: tensor<i32>, %t: tensor<i32>)  {",
        "    %0 = stablehlo.compare GT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>",
        "    %1 = stablehlo.compare NE, %p, %p, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>",
        "    %2 = stablehlo.or %0, %1 : tensor<i1>",
        "    %3 = stablehlo.compare EQ, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>",
        "    %4 = stablehlo.compare LT, %s, %t, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>",
        "    %5 = stablehlo.and %3, %4 : tensor<i1>", "    %6 = stablehlo.or %2, %5 : tensor<i1>",
        "    %7 = stablehlo.select %2, %p, %q : tensor<i1>, tensor<f32>",
        "    %8 = stablehlo.select %6, %s, %t : tensor<i1>, tensor<i32>",
        "    stablehlo.return %7, %8 : tensor<f32>, tensor<i32>", "  }",
        "%r = stablehlo.optimization_barrier %m#1 : tensor<210xi32>")

    def region(op, operand, type_, attributes, types, body="add"):
        return [f'%r = "stablehlo.{op}"({operand}) <{{{attributes}}}> ({{',
                f"^bb0(%x: tensor<{type_}>, %y: tensor<{type_}>):",
                f"  %s = stablehlo.{body} %x, %y : tensor<{type_}>", f"  stablehlo.return %s : tensor<{type_}>", f"}}) : {types}"]
    add("cumsum", {"a": "210x340xf32", "z": "f32"}, "210x340xf32",
        *region("reduce_window", "%a, %z", "f32", "padding = dense<[[0, 0], [339, 0]]> : tensor<2x2xi64>, "
                "window_dimensions = array<i64: 1, 340>", "(tensor<210x340xf32>, tensor<f32>) -> tensor<210x340xf32>"))
    add("max_pool", {"a": "4x28x28x24xf32", "z": "f32"}, "4x14x14x24xf32",
        *region("reduce_window", "%a, %z", "f32", "window_dimensions = array<i64: 1, 2, 2, 1>, "
                "window_strides = array<i64: 1, 2, 2, 1>", "(tensor<4x28x28x24xf32>, tensor<f32>) -> tensor<4x14x14x24xf32>",
                "maximum"))
    add("scatter_add_rows", {"a": "210x340xf32", "i": "48x1xi32", "u": "48x340xf32"}, "210x340xf32",
        *region("scatter", "%a, %i, %u", "f32", "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], "
                "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>",
                "(tensor<210x340xf32>, tensor<48x1xi32>, tensor<48x340xf32>) -> tensor<210x340xf32>"))
    add("sort", {"a": "210x340xf32"}, "210x340xf32",
        '%r = "stablehlo.sort"(%a) <{dimension = 1 : i64, is_stable = true}> ({', "^bb0(%x: tensor<f32>, %y: tensor<f32>):",
        "  %s = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>",
        "  stablehlo.return %s : tensor<i1>", "}) : (tensor<210x340xf32>) -> tensor<210x340xf32>")
    for name, a, b, result, contract in (("dot", "200x480", "480x100", "200x100", ([1], [0])),
                                         ("matvec", "200x480", "480", "200", ([1], [0])),
                                         ("vecmat", "480", "480x200", "200", ([0], [0])),
                                         ("matvec_transposed", "480x200", "480", "200", ([0], [0])),
                                         ("inner", "480", "480", "", ([0], [0]))):
        for dtype in ("f32", "bf16"):
            simple(f"{name}_{dtype}", "dot_general", {"a": f"{a}x{dtype}", "b": f"{b}x{dtype}"},
                   f"{result}{'x' if result else ''}{dtype}", f", contracting_dims = {contract[0]} x {contract[1]}")
    simple("convolution", "convolution", {"a": "1x28x28x16xf32", "b": "3x3x16x32xf32"}, "1x26x26x32xf32",
           " dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} "
           "{batch_group_count = 1 : i64, feature_group_count = 1 : i64}")
    text, case = out["convolution"]
    out["convolution"] = text.replace("%a, %b dim", "(%a, %b) dim"), case
    simple("fft", "fft", {"a": "50x240xcomplex<f32>"}, "50x240xcomplex<f32>", ", type = FFT, length = [240]")
    simple("cholesky", "cholesky", {"a": "60x60xf32"}, "60x60xf32", ", lower = true")
    for algorithm in ("THREE_FRY", "PHILOX"):
        add(f"rng_{algorithm.lower()}", {"s": "2xui64"}, "1234xui32",
            f"%n, %r = stablehlo.rng_bit_generator %s, algorithm = {algorithm} : (tensor<2xui64>) -> (tensor<2xui64>, "
            "tensor<1234xui32>)")
    return out


def xla_compiler():
    try:
        import jax
        from jax._src import compiler
        from jax._src.interpreters import mlir
        from jaxlib import _jax
        from jaxlib.mlir import ir
    except ImportError:
        return None
    device = jax.devices()[0]
    options = compiler.get_compile_options(num_replicas=1, num_partitions=1)

    def milliseconds(text):
        try:
            with mlir.make_ir_context():
                blob = mlir.module_to_bytecode(ir.Module.parse(text))
            begin = time.perf_counter()
            device.client.compile_and_load(blob, _jax.DeviceList((device,)), options)
        except Exception:
            return None
        return (time.perf_counter() - begin) * 1e3

    milliseconds(programs()["add_f32"][0])
    return milliseconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ullage", default=os.path.join(HERE, "../build/release/bin/ullage"))
    parser.add_argument("--limit", type=float, default=3, help="milliseconds")
    parser.add_argument("patterns", nargs="*")
    args = parser.parse_args()
    xla = xla_compiler()
    ratios, above, times = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        program, case = os.path.join(folder, "program.mlir"), os.path.join(folder, "case.json")
        for name, (text, inputs) in programs().items():
            if args.patterns and not any(re.search(p, name) for p in args.patterns):
                continue
            with open(program, "w") as f:
                f.write(text)
            with open(case, "w") as f:
                json.dump(inputs, f)
            seconds = []
            for _ in range(3):
                done = subprocess.run([args.ullage, "run", program, "--case", case, "--json"], capture_output=True, text=True)
                if done.stdout.startswith("{"):
                    seconds.append(json.loads(done.stdout)["compile_seconds"])
            if not seconds:
                print(f"{name:32} failed: {done.stderr.strip().splitlines()[0][:120]}", flush=True)
                continue
            ours, theirs = min(seconds) * 1e3, xla(text) if xla else None
            times.append(ours)
            if theirs:
                ratios.append(ours / theirs)
            if ours >= args.limit:
                above.append(name)
            print(f"{name:32} {ours:8.2f} {theirs or 0:8.2f}{'  above' if ours >= args.limit else ''}", flush=True)
    print(f"{len(times)} programs, {len(above)} of them {args.limit:g} ms or more; the largest {max(times):.2f} ms")
    if ratios:
        print(f"Ullage / XLA, geometric mean: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}")


if __name__ == "__main__":
    main()
