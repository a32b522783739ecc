#!/usr/bin/env python3
"""Checkpointed flax blocks with dropout, trained with Adam. Nothing in it knows of Ullage:

    JAX_PLATFORMS=ullage ULLAGE_FLAGS=--memory-budget=256MiB python examples/jax/flax_dropout.py

`nn.checkpoint` promises that only the blocks' inputs are kept for the backward pass. On most compilers dropout breaks that
promise: the random bits of every block are kept. The losses printed are the same, bit for bit, whatever the budget. Sizes
have names (--size S8) or are given one by one; --no-remat leaves the checkpoints out.
"""
import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np

try:
    import flax.linen as nn
    import optax
    from flax.training import train_state
except ImportError as missing:
    raise SystemExit(f"this example needs flax and optax ({missing}); install them beside jax") from None


# name -> width, hidden, batch, blocks
SIZES = {"small": (128, 1024, 1024, 4), "CI": (128, 4096, 1024, 8), "S8": (256, 2048, 1024, 16), "S32": (256, 8192, 1024, 16),
         "M2": (256, 8192, 8192, 16)}


class Block(nn.Module):
    hidden: int
    rate: float

    @nn.compact
    def __call__(self, x, train):
        h = nn.silu(nn.Dense(self.hidden)(x))
        h = nn.Dropout(self.rate, deterministic=not train)(h)
        return x + nn.Dense(x.shape[-1])(h)


class Net(nn.Module):
    blocks: int
    hidden: int
    rate: float
    remat: bool

    @nn.compact
    def __call__(self, x, train):
        block = nn.checkpoint(Block, static_argnums=(2,)) if self.remat else Block
        for i in range(self.blocks):
            x = block(self.hidden, self.rate, name=f"block{i}")(x, train)
        return nn.Dense(1)(x)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--size", choices=SIZES, default="small")
    for name in ("width", "hidden", "batch", "blocks"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--rate", type=float, default=0.1, help="of the values that dropout drops")
    parser.add_argument("--no-remat", action="store_true")
    options = parser.parse_args()
    width, hidden, batch, blocks = (given or named for given, named in
                                    zip((options.width, options.hidden, options.batch, options.blocks), SIZES[options.size]))

    net = Net(blocks, hidden, options.rate, not options.no_remat)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(batch, width)).astype(np.float32)
    y = np.tanh(x[:, :1] * 2)
    state = train_state.TrainState.create(
        apply_fn=net.apply, params=jax.jit(net.init, static_argnums=2)(jax.random.key(0), x[:2], False)["params"],
        tx=optax.adam(1e-3))

    def step(state, x, y, key):
        def loss(params):
            out = state.apply_fn({"params": params}, x, True, rngs={"dropout": key})
            return jnp.mean((out - y) ** 2)
        value, grads = jax.value_and_grad(loss)(state.params)
        return state.apply_gradients(grads=grads), value

    compiled = jax.jit(step, donate_argnums=0).lower(state, x, y, jax.random.key(1)).compile()
    memory = compiled.memory_analysis()
    if memory is not None:
        print(f"peak {memory.peak_memory_in_bytes / 2**20:.1f} MiB, temporaries {memory.temp_size_in_bytes / 2**20:.1f} MiB")
    begin = time.perf_counter()
    for i in range(options.steps):
        state, loss = compiled(state, x, y, jax.random.fold_in(jax.random.key(1), i))
        print(f"step {i:3} loss {float(loss):.9g} ({np.float32(loss).tobytes().hex()})")
    print(f"{(time.perf_counter() - begin) / options.steps * 1e3:.1f} ms a step")


if __name__ == "__main__":
    main()
