#!/usr/bin/env python3
"""A decode loop that scans over the stacked weights of its layers, once per token. Nothing in it knows of Ullage:

    JAX_PLATFORMS=ullage ULLAGE_FLAGS=--memory-budget=200MiB python examples/jax/scan_decode.py

The weights exist once. A compiler that transposes every weight matrix before the loop, because the loop's products then run
faster, needs them twice; with a budget there is no such surprise.
"""
import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np


def decode(weights, x, tokens):
    def layer(x, w):
        h = jax.nn.gelu(x @ w["up"])
        x = x + h @ w["down"].T
        return x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6), None

    def token(x, _):
        x, _ = jax.lax.scan(layer, x, weights)
        return x, x[:, :4]

    return jax.lax.scan(token, x, length=tokens)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--hidden", type=int, default=3072)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=16)
    options = parser.parse_args()

    @jax.jit
    def make(key):
        up, down = jax.random.split(key)
        shape = (options.layers, options.width, options.hidden)
        return {"up": jax.random.normal(up, shape) * options.width ** -0.5,
                "down": jax.random.normal(down, shape) * options.hidden ** -0.5}

    weights = make(jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (options.batch, options.width))
    compiled = jax.jit(decode, static_argnums=2).lower(weights, x, options.tokens).compile()
    memory = compiled.memory_analysis()
    size = sum(w.nbytes for w in jax.tree.leaves(weights))
    print(f"weights {size / 2**20:.1f} MiB")
    if memory is not None:
        print(f"peak {memory.peak_memory_in_bytes / 2**20:.1f} MiB, temporaries {memory.temp_size_in_bytes / 2**20:.1f} MiB")
    jax.block_until_ready(compiled(weights, x))
    begin = time.perf_counter()
    _, out = jax.block_until_ready(compiled(weights, x))
    print(f"{(time.perf_counter() - begin) / options.tokens * 1e3:.2f} ms a token")
    print("last", np.asarray(out)[-1, 0], np.asarray(out)[-1, 0].tobytes().hex())


if __name__ == "__main__":
    main()
