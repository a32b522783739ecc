"""Ullage beside XLA:CPU on stored programs: temporaries, step time, compile time, as ratios, each pair in the same minute.

    compare_xla.py --ullage build/release/bin/ullage --programs ../shared/programs [--repeat 5] [PATTERN ...]

PATTERN is a regular expression over case names (default: ^seed_). XLA runs in a process of its own per setting: by default,
and with --xla_disable_hlo_passes=cse_barrier_expander, its best setting for checkpointed programs. The Python that runs this
script must have jax==0.10.2 and jaxlib==0.10.2. Without them only Ullage's own figures are printed.
"""
import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys

BEST_FLAG = "--xla_disable_hlo_passes=cse_barrier_expander"
HERE = os.path.dirname(os.path.abspath(__file__))


def run_json(command, env=None, timeout=900):
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=env)
    try:
        return json.loads(done.stdout), done.returncode
    except json.JSONDecodeError:
        return None, done.returncode


def xla(folder, flags, repeat, compile_only):
    env = dict(os.environ)
    env.pop("OPENBLAS_CORETYPE", None)
    env["XLA_FLAGS"] = flags
    command = [sys.executable, os.path.join(HERE, "xla_step.py"), folder, "--repeat", str(repeat)]
    if compile_only:
        command.append("--compile-only")
    try:
        return run_json(command, env)[0]
    except subprocess.TimeoutExpired:
        return None


def ullage(binary, folder, repeat, budget, verb="run", threads=None):
    command = [binary, verb, os.path.join(folder, "program.mlir"), "--json"]
    if verb == "run":
        command += ["--case", os.path.join(folder, "case.json"), "--repeat", str(repeat)]
        if threads:
            command += ["--threads", str(threads)]
    if budget:
        command.append(f"--memory-budget={budget}")
    return run_json(command)


def best(report):
    """The least of the steps after the first: other work on the machine only ever adds."""
    steps = report["step_seconds"]
    return min(steps[1:] if len(steps) > 1 else steps)


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(v) for v in values)) if values else float("nan")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("patterns", nargs="*", default=["^seed_"])
    parser.add_argument("--ullage", default=os.path.join(HERE, "../build/release/bin/ullage"))
    parser.add_argument("--programs", default=os.path.join(HERE, "../../shared/programs"))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--largest", type=float, default=9.0, help="GiB that XLA may need; above it only compiles")
    parser.add_argument("--no-xla", action="store_true")
    args = parser.parse_args()
    cases = sorted(d for d in os.listdir(args.programs)
                   if os.path.exists(os.path.join(args.programs, d, "case.json")) and any(re.search(p, d) for p in args.patterns))
    with_xla = not args.no_xla
    if with_xla:
        try:
            import jaxlib  # noqa: F401
        except ImportError:
            with_xla = False
            print("jaxlib is not installed: only Ullage's figures", file=sys.stderr)
    ratios = {}
    print(f"{'case':34} {'check':6} {'temp MiB':>9} {'/ideal':>7} {'/XLA':>7} {'step ms':>9} {'/XLA':>6} {'/best':>6} "
          f"{'compile ms':>10} {'/XLA':>6}  half budget: {'temp':>7} {'step':>6} {'bits':>5}")
    for name in cases:
        folder = os.path.join(args.programs, name)
        with open(os.path.join(folder, "case.json")) as f:
            case = json.load(f)
        family = name[:6]
        stats = case["xla_cpu"]["default"]["memory_analysis"]
        need = (stats["temp"] + stats["argument"] + stats["output"]) / 2**30
        plan, code = ullage(args.ullage, folder, 1, None, "plan")
        if plan is None or code != 0:
            print(f"{name:34} plan failed ({code})")
            continue
        runs_here = plan["planned_peak_bytes"] < 18 * 2**30
        own = plan
        check = "-"
        if runs_here:
            own, code = ullage(args.ullage, folder, args.repeat, None)
            if own is None or "step_seconds" not in own:
                print(f"{name:34} run failed ({code})")
                continue
            check = "pass" if own["check"]["passed"] else "FAIL"
        reference = xla(folder, "", args.repeat, need > args.largest or not runs_here) if with_xla else None
        flagged = None
        if with_xla and "remat" in name:
            flagged = xla(folder, BEST_FLAG, args.repeat, need > args.largest or not runs_here)
        ideal = case.get("ideal_temp") or 0

        def ratio(key, value):
            if value is not None and value > 0 and math.isfinite(value):
                ratios.setdefault((family, key), []).append(value)
                return f"{value:.2f}"
            return "-"
        row = f"{name:34} {check:6} {own['temp_bytes'] / 2**20:9.2f} "
        row += f"{ratio('temp / ideal', own['temp_bytes'] / ideal if ideal else None):>7} "
        row += f"{ratio('temp / XLA', own['temp_bytes'] / reference['temp_bytes'] if reference and reference['temp_bytes'] else None):>7} "
        step = best(own) if runs_here else None
        row += f"{step * 1e3 if step else float('nan'):9.1f} "
        row += f"{ratio('step / XLA', step / best(reference) if step and reference and reference['step_seconds'] else None):>6} "
        strongest = min((best(r) for r in (reference, flagged) if r and r["step_seconds"]), default=None)
        row += f"{ratio('step / XLA best', step / strongest if step and strongest else None):>6} "
        row += f"{own['compile_seconds'] * 1e3:10.1f} "
        row += f"{ratio('compile / XLA', own['compile_seconds'] / reference['compile_seconds'] if reference and runs_here else None):>6} "
        if runs_here and own["temp_bytes"] > 2**21:
            half_budget = own["planned_peak_bytes"] - own["temp_bytes"] // 2
            half, code = ullage(args.ullage, folder, args.repeat, half_budget)
            if code == 2:
                row += f"             floor {(half['floor_bytes'] - (own['planned_peak_bytes'] - own['temp_bytes'])) / 2**20:.1f} MiB of temporaries"
            elif half and "step_seconds" in half:
                same = half["outputs_sha256"] == own["outputs_sha256"]
                inside = half["measured_peak_bytes"] <= half_budget
                row += f"             {half['temp_bytes'] / 2**20:7.2f} {ratio('half / own', best(half) / step):>6} {'same' if same and inside else 'OFF':>5}"
        print(row, flush=True)
    print()
    for (family, key), values in sorted(ratios.items()):
        print(f"{family} {key:18} geometric mean {geometric_mean(values):.3f}  largest {max(values):.3f}  of {len(values)}")


if __name__ == "__main__":
    main()
