"""Stored programs inside fractions of their own memory, and inside a stated allowance: does the run stay within, with the
same bits, and what does it cost in time?

    budgets.py --ullage build/release/bin/ullage --programs ../shared/programs [--fraction 0.6 --fraction 0.35] [PATTERN ...]
    budgets.py ... --allowance [PATTERN ...]

Fractions are of the temporaries that the program takes without a budget; where the stated floor is above, the floor is the
budget, and the program counts in a mean of its own. With --allowance the budget is arguments + outputs + the case's pass_temp, or the larger of 2 x ideal_temp and 4 MiB.
PATTERN is a regular expression over case names (default: those that are not seed_*). Times are the least of the repeated steps.
"""
import argparse
import collections
import json
import math
import os
import re
import subprocess

MIB = 1 << 20


def ullage(binary, verb, folder, *flags):
    command = [binary, verb, os.path.join(folder, "program.mlir"), "--json", *flags]
    if verb == "run":
        command += ["--case", os.path.join(folder, "case.json")]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
        return json.loads(done.stdout)
    except (json.JSONDecodeError, subprocess.TimeoutExpired):
        return None


def least(report):
    steps = report["step_seconds"]
    return min(steps[1:] if len(steps) > 1 else steps)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def within(report, budget):
    return report["measured_peak_bytes"] <= budget and report["planned_peak_bytes"] <= budget


def fractions(binary, folder, name, wanted, repeat, ratios):
    free = ullage(binary, "run", folder, "--repeat", str(repeat))
    if not free or "temp_bytes" not in free:
        print(f"{name:40} does not run")
        return
    fixed = free["planned_peak_bytes"] - free["temp_bytes"]
    refusal = ullage(binary, "plan", folder, "--memory-budget", "1") or {}
    floor = refusal.get("floor_bytes")
    if floor is None:
        print(f"{name:40} no floor stated")
        return
    cells = []
    reports = {}
    for fraction in wanted:
        budget = fixed + int(free["temp_bytes"] * fraction)
        mark = ""
        if budget < floor:
            budget, mark = floor, "floor "
        if budget >= free["planned_peak_bytes"]:
            cells.append("cannot shrink")
            continue
        report = ullage(binary, "run", folder, "--repeat", str(repeat), "--memory-budget", str(budget))
        if not report or "step_seconds" not in report:
            cells.append(mark + "REFUSED")
            continue
        reports[fraction] = (mark, budget, report)
        cells.append(fraction)
    # All of them once more, by turns: a machine's other load comes and goes.
    def best_of_two(report, *flags):
        again = ullage(binary, "run", folder, "--repeat", str(repeat), *flags)
        return min(least(report), least(again) if again else math.inf)

    own = best_of_two(free) if reports else least(free)
    for i, fraction in enumerate(cells):
        if fraction not in reports:
            continue
        mark, budget, report = reports[fraction]
        ratio = best_of_two(report, "--memory-budget", str(budget)) / own
        ratios[mark, fraction].append(ratio)
        bad = ("" if within(report, budget) else " OVER") + (
            "" if report["outputs_sha256"] == free["outputs_sha256"] else " OTHER BITS")
        cells[i] = f"{mark}{report['temp_bytes'] / MIB:.2f} x{ratio:.2f} c{report['compile_seconds']:.1f}{bad}"
    print(f"{name:40} temp {free['temp_bytes'] / MIB:.2f} floor {(floor - fixed) / MIB:.2f} step {own:.4f} | "
          + " | ".join(cells), flush=True)


def allowance(binary, folder, name, case, repeat, ratios):
    limit = case.get("pass_temp") or max(2 * (case.get("ideal_temp") or 0), 4 * MIB)
    free = ullage(binary, "plan", folder)
    if not free or "temp_bytes" not in free:
        print(f"{name:40} does not compile")
        return False
    fixed = free["planned_peak_bytes"] - free["temp_bytes"]
    budget = free["argument_bytes"] + free["output_bytes"] - free["alias_bytes"] + free["constant_bytes"] + limit
    report = ullage(binary, "run", folder, "--repeat", str(repeat), "--memory-budget", str(budget))
    if not report or "step_seconds" not in report:
        floor = (report or {}).get("floor_bytes")
        print(f"{name:40} free {free['temp_bytes'] / MIB:.2f} limit {limit / MIB:.2f} MISSED, floor "
              f"{(floor - fixed) / MIB if floor else math.nan:.2f}", flush=True)
        return False
    stored = case.get("xla_cpu", {}).get("default", {}).get("step_s_median")
    good = within(report, budget) and report["check"]["passed"]
    if stored:
        ratios["time"].append(least(report) / stored)
    print(f"{name:40} free {free['temp_bytes'] / MIB:.2f} limit {limit / MIB:.2f} used {report['temp_bytes'] / MIB:.2f} "
          f"{'ok' if good else 'FAILED'} step {least(report):.4f} stored XLA:CPU {stored}", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ullage", default="build/release/bin/ullage")
    parser.add_argument("--programs", default="../shared/programs")
    parser.add_argument("--fraction", type=float, action="append")
    parser.add_argument("--allowance", action="store_true")
    parser.add_argument("--repeat", type=int, default=4)
    parser.add_argument("patterns", nargs="*")
    args = parser.parse_args()
    wanted = args.fraction or [0.6, 0.35]
    patterns = args.patterns or ["^(?!seed_)"]
    ratios = collections.defaultdict(list)
    good = total = 0
    for name in sorted(os.listdir(args.programs)):
        folder = os.path.join(args.programs, name)
        case_file = os.path.join(folder, "case.json")
        if not os.path.exists(case_file) or not any(re.search(p, name) for p in patterns):
            continue
        if args.allowance:
            with open(case_file) as file:
                good += allowance(args.ullage, folder, name, json.load(file), args.repeat, ratios)
            total += 1
        else:
            fractions(args.ullage, folder, name, wanted, args.repeat, ratios)
    if args.allowance:
        print(f"{good} of {total} within their allowance; time to the stored XLA:CPU's, geometric mean "
              f"{geometric_mean(ratios['time']):.3f} of {len(ratios['time'])}")
    else:
        for fraction in wanted:
            for mark, where in (("", f"at {fraction:.0%}"), ("floor ", f"at floors above {fraction:.0%}")):
                found = ratios[mark, fraction]
                print(f"{where}: time to the free run's, geometric mean {geometric_mean(found):.3f} of {len(found)}, "
                      f"largest {max(found, default=math.nan):.2f}")


if __name__ == "__main__":
    main()
