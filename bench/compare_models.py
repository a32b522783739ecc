"""The models of examples/jax/models.py on Ullage and on XLA:CPU, run by turns: losses, memory and time of a step.

    compare_models.py [--steps 50] [--rounds 1] [MODEL ...]

Memory is what the compiler says (arguments, results, temporaries) and, beside it, how much the process grew. Time is the least of
the steps. "loss" is the largest relative difference of a step's loss, "nudged" the same between XLA:CPU and itself with weights
that begin one rounding step off: training a net amplifies roundings, and no two compilers can be closer than that. The Python
that runs this needs jax==0.10.2, flax, optax.
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
MIB = 2 ** 20


def train(platform, model, steps, *flags):
    environment = dict(os.environ, JAX_PLATFORMS=platform)
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "python"), environment.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, str(ROOT / "examples" / "jax" / "models.py"), model, "--steps", str(steps), "--json",
                           *flags], env=environment, text=True, capture_output=True)
    if done.returncode:
        raise SystemExit(f"{model} on {platform}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def loss_difference(one, other):
    return max(abs(a - b) / abs(b) for a, b in zip(one["losses"], other["losses"]))


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=["mlp", "cnn", "transformer"])
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    print(f"{'model':12} {'loss':>9} {'nudged':>9} {'MiB':>8} {'XLA':>8} {'ratio':>6} {'grew MiB':>9} {'XLA':>8} "
          f"{'step ms':>9} {'XLA':>9} {'ratio':>6} {'compile s':>10} {'XLA':>6}")
    memory, time = [], []
    for model in options.models:
        ours, theirs = [], []
        for _ in range(options.rounds):
            theirs.append(train("cpu", model, options.steps))
            ours.append(train("ullage", model, options.steps))
        loss = loss_difference(ours[0], theirs[0])
        nudged = loss_difference(train("cpu", model, options.steps, "--nudge"), theirs[0])
        needed = [r[0]["needed_bytes"] for r in (ours, theirs)]
        step = [min(min(report["step_seconds"]) for report in r) for r in (ours, theirs)]
        memory.append(needed[0] / needed[1])
        time.append(step[0] / step[1])
        print(f"{model:12} {loss:9.1e} {nudged:9.1e} {needed[0] / MIB:8.1f} {needed[1] / MIB:8.1f} "
              f"{memory[-1]:6.3f} {ours[0]['growth_bytes'] / MIB:9.1f} {theirs[0]['growth_bytes'] / MIB:8.1f} "
              f"{step[0] * 1e3:9.1f} {step[1] * 1e3:9.1f} {time[-1]:6.3f} {ours[0]['compile_seconds']:10.2f} "
              f"{theirs[0]['compile_seconds']:6.2f}", flush=True)
    print(f"geometric mean: memory {geometric_mean(memory):.3f}, time {geometric_mean(time):.3f}")


if __name__ == "__main__":
    main()
