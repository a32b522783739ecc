#!/usr/bin/env python3
"""Three small flax models with dropout, trained for some steps with optax. Nothing in it knows of Ullage:

    JAX_PLATFORMS=cpu python examples/jax/models.py mlp
    JAX_PLATFORMS=ullage python examples/jax/models.py mlp

Data come from a fixed seed. Prints the memory that the compiler says the step needs, every step's loss, and the time of a step.
With --json it prints one object, for bench/compare_models.py.
"""
import argparse
import json
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

DROP = 0.1


class Mlp(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        for _ in range(6):
            x = nn.Dropout(DROP, deterministic=not train)(nn.gelu(nn.Dense(1024)(x)))
        return nn.Dense(10)(x)

    @staticmethod
    def data(rng):
        x = rng.normal(size=(2048, 256)).astype(np.float32)
        return x, np.argmax(x[:, :10], axis=1)


class Cnn(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        for features in (32, 64):
            x = nn.relu(nn.Conv(features, (3, 3))(x))
            x = nn.relu(nn.GroupNorm(8)(nn.Conv(features, (3, 3))(x)))
            x = nn.avg_pool(x, (2, 2), strides=(2, 2))
        x = x.reshape(x.shape[0], -1)
        x = nn.Dropout(DROP, deterministic=not train)(nn.relu(nn.Dense(128)(x)))
        return nn.Dense(10)(x)

    @staticmethod
    def data(rng):
        x = rng.normal(size=(128, 28, 28, 1)).astype(np.float32)
        return x, np.argmax(x[:, :10, 0, 0], axis=1)


class Attention(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        drop = nn.Dropout(DROP, deterministic=not train)
        h = nn.LayerNorm()(x)
        mask = nn.make_causal_mask(x[..., 0])
        h = nn.MultiHeadDotProductAttention(num_heads=4, dropout_rate=DROP, deterministic=not train)(h, mask=mask)
        x = x + drop(h)
        h = nn.Dense(4 * x.shape[-1])(nn.LayerNorm()(x))
        return x + drop(nn.Dense(x.shape[-1])(nn.gelu(h)))


class Transformer(nn.Module):
    @nn.compact
    def __call__(self, tokens, train):
        x = nn.Embed(512, 128)(tokens) + nn.Embed(tokens.shape[1], 128)(jnp.arange(tokens.shape[1]))
        for _ in range(4):
            x = Attention()(x, train)
        return nn.Dense(512)(nn.LayerNorm()(x))

    @staticmethod
    def data(rng):
        tokens = np.cumsum(rng.integers(0, 3, size=(16, 129)), axis=1) % 512
        return tokens[:, :-1].astype(np.int32), tokens[:, 1:]


MODELS = {"mlp": Mlp, "cnn": Cnn, "transformer": Transformer}


def needed_bytes(memory):
    """Everything at once: arguments, results that are not arguments, temporaries."""
    return (memory.argument_size_in_bytes + memory.output_size_in_bytes - memory.alias_size_in_bytes +
            memory.temp_size_in_bytes)


def resident(key):
    """Bytes of this process from the kernel: "VmRSS" now, "VmHWM" at most since the counter was reset."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(key + ":"))


def reset_peak():
    with open("/proc/self/clear_refs", "w") as counters:
        counters.write("5")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--nudge", action="store_true", help="begin with weights that are one rounding step off: how far do the "
                        "losses of two runs come apart that differ in roundings only?")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    net = MODELS[options.model]()
    x, y = MODELS[options.model].data(np.random.default_rng(0))
    y = y.astype(np.int32)
    parameters = jax.jit(net.init, static_argnums=2)(jax.random.key(0), x[:2], False)["params"]
    if options.nudge:
        signs = np.random.default_rng(1)
        parameters = jax.tree.map(lambda weights: weights * (1 + signs.choice([-1, 1], weights.shape) * 2.0**-23).astype(np.float32),
                                  parameters)
    state = train_state.TrainState.create(apply_fn=net.apply, params=parameters, tx=optax.adamw(1e-3))

    def step(state, x, y, key):
        def loss(parameters):
            out = state.apply_fn({"params": parameters}, x, True, rngs={"dropout": key})
            return optax.softmax_cross_entropy_with_integer_labels(out, y).mean()
        value, gradients = jax.value_and_grad(loss)(state.params)
        return state.apply_gradients(grads=gradients), value

    x, y = jnp.asarray(x), jnp.asarray(y)
    begin = time.perf_counter()
    compiled = jax.jit(step, donate_argnums=0).lower(state, x, y, jax.random.key(1)).compile()
    compile_seconds = time.perf_counter() - begin
    memory = compiled.memory_analysis()
    keys = jax.block_until_ready(jax.random.split(jax.random.key(1), options.steps))
    reset_peak()
    before = resident("VmRSS")
    losses, seconds = [], []
    for key in keys:
        begin = time.perf_counter()
        state, loss = compiled(state, x, y, key)
        losses.append(float(loss))
        seconds.append(time.perf_counter() - begin)
    report = {"model": options.model, "platform": jax.default_backend(), "needed_bytes": needed_bytes(memory),
              "argument_bytes": memory.argument_size_in_bytes, "growth_bytes": resident("VmHWM") - before,
              "compile_seconds": compile_seconds, "step_seconds": seconds, "losses": losses}
    if options.json:
        print(json.dumps(report))
        return
    print(f"needs {report['needed_bytes'] / 2**20:.1f} MiB, of them arguments {report['argument_bytes'] / 2**20:.1f}; the process "
          f"grew by {report['growth_bytes'] / 2**20:.1f} MiB")
    for i, loss in enumerate(losses):
        print(f"step {i:3} loss {loss:.7f}")
    print(f"{min(seconds) * 1e3:.1f} ms a step")


if __name__ == "__main__":
    main()
