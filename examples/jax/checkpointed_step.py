#!/usr/bin/env python3
"""A training step in plain JAX that checkpoints its blocks and drops activations out, and its export for Ullage.

The model is a stack of residual blocks, x + w2 * dropout(silu(w1 * x + b1)) + b2; the loss is the mean square of the
result; the optimiser is Adam and its state is donated. `jax.checkpoint` around each block promises that only the
blocks' inputs are kept for the backward pass.

    checkpointed_step.py --export DIR    writes DIR/program.mlir and DIR/case.json
    checkpointed_step.py --measure       prints what XLA:CPU needs for the same step

Needs jax and jaxlib 0.10.2.
"""
import argparse
import json
import os
import time

import jax
import jax.numpy as jnp
import numpy as np

BLOCKS, WIDTH, HIDDEN, BATCH, DROP = 8, 256, 2048, 1024, 0.1
RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.999, 1e-8


# ---------------------------------------------------------------------------------------------------------- the program
def dropout(x, key):
    keep = np.float32(1.0 - DROP)
    return jnp.where(jax.random.bernoulli(key, keep, x.shape), x / keep, 0)


def block(p, x, key):
    hidden = dropout(jax.nn.silu(x @ p["w1"] + p["b1"]), key)
    return x + hidden @ p["w2"] + p["b2"]


def loss(params, x, key):
    for i, p in enumerate(params):
        x = jax.checkpoint(block)(p, x, jax.random.fold_in(key, i))
    return jnp.mean(x * x)


def step(state, x, key_data):
    value, gradients = jax.value_and_grad(loss)(state["params"], x, jax.random.wrap_key_data(key_data))
    count = state["count"] + 1
    time_steps = count.astype(x.dtype)

    def update(p, m, v, g):
        m = BETA1 * m + (1 - BETA1) * g
        v = BETA2 * v + (1 - BETA2) * g * g
        unbiased_m = m / (1 - BETA1 ** time_steps)
        unbiased_v = v / (1 - BETA2 ** time_steps)
        return p - RATE * unbiased_m / (jnp.sqrt(unbiased_v) + EPSILON), m, v

    updated = jax.tree.map(update, state["params"], state["m"], state["v"], gradients)
    params, m, v = jax.tree.transpose(jax.tree.structure(gradients), jax.tree.structure((0, 0, 0)), updated)
    return {"count": count, "params": params, "m": m, "v": v}, value


# ------------------------------------------------------------------------------------------- its arguments, as recipes
def hashes(seed, count):
    """The finaliser of splitmix64 on 1, 2, ... plus seed times the golden ratio, modulo 2^64."""
    with np.errstate(over="ignore"):
        x = np.arange(1, count + 1, dtype=np.uint64) + np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
        return x ^ (x >> np.uint64(31))


def fill(spec):
    dtype = {"f32": np.float32, "i32": np.int32, "ui32": np.uint32}[spec["dtype"]]
    if spec["fill"] == "const":
        return np.full(spec["shape"], spec["value"], dtype)
    if spec["fill"] == "values":
        return np.array(spec["values"], dtype)
    h = hashes(spec["seed"], int(np.prod(spec["shape"])))
    if spec["fill"] == "normal":
        fields = sum((h >> np.uint64(s)) & np.uint64(0xFFFF) for s in (0, 16, 32, 48))
        values = (fields.astype(np.int64) - 131070).astype(np.float32) * np.float32(spec["mul"])
    else:
        unit = (h >> np.uint64(40)).astype(np.float32) * np.float32(2.0 ** -24)
        values = unit * np.float32(spec["span"]) + np.float32(spec["lo"])
    return values.reshape(spec["shape"])


def normal(shape, deviation, seed):
    return {"shape": list(shape), "dtype": "f32", "fill": "normal", "mul": float(np.float32(deviation / 37837.2271)), "seed": seed}


def recipes():
    """The step's arguments with a recipe for each leaf."""
    seeds = iter(range(1, 1000))
    shapes = {"w1": (WIDTH, HIDDEN), "b1": (HIDDEN,), "w2": (HIDDEN, WIDTH), "b2": (WIDTH,)}

    def like_params(leaf):
        return [{name: leaf(shape) for name, shape in shapes.items()} for _ in range(BLOCKS)]
    state = {
        "count": {"shape": [], "dtype": "i32", "fill": "const", "value": 10},
        "params": like_params(lambda s: normal(s, s[0] ** -0.5 if len(s) == 2 else 0.01, next(seeds))),
        "m": like_params(lambda s: normal(s, 1e-3, next(seeds))),
        "v": like_params(lambda s: {"shape": list(s), "dtype": "f32", "fill": "uniform", "lo": float(np.float32(1e-6)),
                                    "span": float(np.float32(9e-6)), "seed": next(seeds)}),
    }
    x = normal((BATCH, WIDTH), 1.0, next(seeds))
    return state, x, {"shape": [2], "dtype": "ui32", "fill": "values", "values": [0, 7]}


def is_recipe(x):
    return isinstance(x, dict) and "fill" in x


def arguments(dtype=np.float32):
    def make(spec):
        value = fill(spec)
        return jnp.asarray(value.astype(dtype) if value.dtype == np.float32 else value)
    return jax.tree.map(make, recipes(), is_leaf=is_recipe)


# ------------------------------------------------------------------------------------------- what its outputs must be
def describe(name, value, reference):
    """Expectations of one output: XLA:CPU's float32 result is where a correct one may be off from the float64 one."""
    out = {"name": name, "shape": list(value.shape), "dtype": {"float32": "f32", "int32": "i32"}[value.dtype.name]}
    stride = max(1, value.size // 16)
    if value.dtype == np.int32:
        import zlib
        return {**out, "exact": True, "crc32": zlib.crc32(value.tobytes()), "sum": int(value.sum()),
                "sample": {"stride": stride, "values": [int(v) for v in value.ravel()[::stride][:16]]}}
    wide, count = reference.astype(np.float64).ravel(), value.size
    error = np.abs(value.ravel() - wide)
    rms = float(np.sqrt(np.mean(wide ** 2)))
    tolerance = max(min(32 * float(error.max()), max(3 * float(error.max()), 0.02 * rms)), 2e-6 * rms)
    return {**out, "reference": "f64", "sum": float(wide.sum()), "sumsq": float((wide ** 2).sum()),
            "absmax": float(np.abs(wide).max()), "tol_abs": tolerance,
            "tol_sum": max(32 * abs(float(value.sum(dtype=np.float64) - wide.sum())), tolerance * count ** 0.5),
            "tol_sumsq": max(32 * abs(float((value.astype(np.float64) ** 2).sum() - (wide ** 2).sum())),
                             2 * rms * tolerance * count ** 0.5),
            "tol_rms": max(16 * float(np.sqrt(np.mean(error ** 2))), 2e-6 * rms),
            "sample": {"stride": stride, "values": [float(v) for v in wide[::stride][:16]]}}


def names(tree, is_leaf=None):
    return [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_flatten_with_path(tree, is_leaf=is_leaf)[0]]


def lowered_step():
    # Locations name this file without the folders it happens to lie in.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/(site-packages|jax)/")
    return jax.jit(step, donate_argnums=0).lower(*jax.eval_shape(arguments))


def export(folder):
    lowered = lowered_step()
    with open(os.path.join(folder, "program.mlir"), "w", encoding="utf-8") as file:
        file.write(lowered.as_text(debug_info=True))
    results = jax.jit(step)(*arguments())
    jax.config.update("jax_enable_x64", True)
    exact = jax.jit(step)(*arguments(np.float64))
    specs = recipes()
    inputs = [{"name": name, **spec} for name, spec in
              zip(names(specs, is_recipe), jax.tree.leaves(specs, is_leaf=is_recipe))]
    for i, _ in enumerate(jax.tree.leaves(specs[0], is_leaf=is_recipe)):
        inputs[i]["aliases_output"] = i  # the donated state becomes the new state
    outputs = [describe(name, np.asarray(a), np.asarray(b)) for name, a, b in
               zip(names(results), jax.tree.leaves(results), jax.tree.leaves(exact))]
    case = {"name": "checkpointed_step", "module": "program.mlir", "inputs": inputs, "outputs": outputs}
    with open(os.path.join(folder, "case.json"), "w", encoding="utf-8") as file:
        # One entry a line keeps the file small and its changes readable.
        body = ",\n".join(f' "{key}": [\n  ' + ",\n  ".join(map(json.dumps, value)) + "]" if isinstance(value, list)
                          else f' "{key}": {json.dumps(value)}' for key, value in case.items())
        file.write("{\n" + body + "\n}\n")


def measure():
    compiled = lowered_step().compile()
    analysis = compiled.memory_analysis()
    state, x, key = arguments()
    seconds = []
    for _ in range(4):
        start = time.perf_counter()
        state, value = compiled(state, x, key)
        value.block_until_ready()
        seconds.append(time.perf_counter() - start)
    print(f"XLA_FLAGS={os.environ.get('XLA_FLAGS', '')}")
    for name in ("argument", "output", "alias", "temp"):
        print(f"{name}_bytes {getattr(analysis, name + '_size_in_bytes')}")
    print(f"step_seconds {min(seconds[1:]):.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--export", metavar="DIR")
    parser.add_argument("--measure", action="store_true")
    options = parser.parse_args()
    if options.export:
        export(options.export)
    if options.measure:
        measure()
    if not options.export and not options.measure:
        parser.print_help()
