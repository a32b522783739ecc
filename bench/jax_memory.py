"""Memory of examples/jax/flax_dropout.py, unmodified, on Ullage and on XLA:CPU: what the compiler plans, what `ullage plan` says of
the same program, and how much the process really grows while it trains.

    jax_memory.py [--sizes CI,S8] [--no-xla] [--budgets 5] [--steps 3]

Growth is the resident set's high-water mark over the steps less what was resident before the first one, plus the arguments, which
are resident by then. With --budgets N the program is run again inside N budgets between the smallest that works and what it takes
freely, and the losses' bits are compared. The Python that runs this needs jax==0.10.2, flax and optax; --ullage names the command.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "examples" / "jax" / "flax_dropout.py"
MIB = 2 ** 20


def status(pid, key):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    found = re.search(rf"^{key}:\s+(\d+) kB", text, re.MULTILINE)
    return int(found.group(1)) * 1024 if found else 0


def train(platform, arguments, steps, budget=None, dump=None):
    """What the script prints and how the process grows: planned peak and growth in bytes, losses as printed, ms a step."""
    environment = dict(os.environ, JAX_PLATFORMS=platform, PYTHONUNBUFFERED="1")
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "python"), environment.get("PYTHONPATH", "")])
    environment.pop("ULLAGE_FLAGS", None)
    if budget:
        environment["ULLAGE_FLAGS"] = f"--memory-budget={budget}"
    if dump:
        environment["JAX_DUMP_IR_TO"] = dump
    process = subprocess.Popen([sys.executable, str(SCRIPT), "--steps", str(steps), *arguments], env=environment, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out = {"losses": [], "growth": None, "peak": None}
    before = 0
    for line in process.stdout:
        if line.startswith("peak"):
            out["peak"] = float(line.split()[1]) * MIB
            out["temporaries"] = float(line.split()[4]) * MIB
            before = status(process.pid, "VmRSS")
            pathlib.Path(f"/proc/{process.pid}/clear_refs").write_text("5")
        elif line.startswith("step"):
            out["losses"].append(line.strip())
            if len(out["losses"]) < steps:  # the process may be gone after the last one
                out["growth"] = status(process.pid, "VmHWM") - before
        elif "ms a step" in line:
            out["ms"] = float(line.split()[0])
    out["error"] = process.stderr.read()
    out["code"] = process.wait()
    return out


def plan(binary, dump, budget=None):
    """`ullage plan` of the step as JAX lowered it."""
    program = max(pathlib.Path(dump).glob("*jit_step*.mlir"), key=lambda p: p.stat().st_size)
    command = [binary, "plan", str(program), "--json"] + ([f"--memory-budget={budget}"] if budget else [])
    done = subprocess.run(command, capture_output=True, text=True)
    return json.loads(done.stdout)


def smallest(arguments, floor):
    """The smallest budget that works in JAX, where arguments and results lie apart: at least the command's."""
    refused = re.search(r"smallest budget that works is .*--memory-budget=(\d+)", train("ullage", arguments, 1, floor)["error"])
    return int(refused.group(1)) if refused else floor


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="CI,S8")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--budgets", type=int, default=0)
    parser.add_argument("--no-xla", action="store_true")
    parser.add_argument("--variants", default="remat,plain")
    parser.add_argument("--ullage", default=str(ROOT / "build" / "release" / "bin" / "ullage"))
    options = parser.parse_args()
    print(f"{'size':5} {'':6} {'plan MiB':>9} {'in JAX':>9} {'grows by':>9} {'/ plan':>7} {'XLA MiB':>9} {'grows by':>9} {'ours/XLA':>9}")
    for size in options.sizes.split(","):
        for variant in options.variants.split(","):
            arguments = ["--size", size] + (["--no-remat"] if variant == "plain" else [])
            with tempfile.TemporaryDirectory() as dump:
                own = train("ullage", arguments, options.steps, dump=dump)
                if own["code"]:
                    print(f"{size:5} {variant:6} failed: {own['error'].strip().splitlines()[-1:]}")
                    continue
                planned = plan(options.ullage, dump)
                grown = own["growth"] + planned["argument_bytes"]
                row = f"{size:5} {variant:6} {planned['planned_peak_bytes'] / MIB:9.1f} {own['peak'] / MIB:9.1f} {grown / MIB:9.1f} "
                row += f"{grown / planned['planned_peak_bytes']:7.3f} "
                if not options.no_xla:
                    xla = train("cpu", arguments, options.steps)
                    # XLA's own "peak" leaves its temporaries out.
                    needs = xla["temporaries"] + planned["argument_bytes"] + planned["output_bytes"] - planned["alias_bytes"]
                    row += f"{needs / MIB:9.1f} {(xla['growth'] + planned['argument_bytes']) / MIB:9.1f} "
                    row += f"{planned['planned_peak_bytes'] / needs:9.3f}"
                print(row, flush=True)
                if options.budgets:
                    floor = smallest(arguments, plan(options.ullage, dump, 1)["floor_bytes"])
                    free = planned["planned_peak_bytes"]
                    for i in range(options.budgets):
                        budget = int(floor + (free - floor) * i / options.budgets)
                        tight = train("ullage", arguments, options.steps, budget)
                        same = tight["losses"] == own["losses"]
                        inside = tight["peak"] is not None and tight["peak"] <= budget + MIB / 10
                        print(f"      budget {budget / MIB:9.1f}: " +
                              (f"peak {tight['peak'] / MIB:.1f}, grows by {(tight['growth'] + planned['argument_bytes']) / MIB:.1f}, "
                               f"{'inside' if inside else 'OVER'}, losses {'the same' if same else 'DIFFER'}"
                               if tight["code"] == 0 else f"failed: {tight['error'].strip().splitlines()[-1:]}"), flush=True)


if __name__ == "__main__":
    main()
