"""Times `ullage pack` on the public packing instances, each at the capacity in its name, and the planning of a large program.

    packing.py --ullage build/release/bin/ullage --instances ../shared/packing
"""
import argparse
import json
import os
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ullage", default=os.path.join(HERE, "../build/release/bin/ullage"))
    parser.add_argument("--instances", default=os.path.join(HERE, "../../shared/packing"))
    args = parser.parse_args()
    total = 0.0
    solved = 0
    files = sorted(f for f in os.listdir(args.instances) if f.endswith(".csv"))
    for name in files:
        capacity = name.split(".")[1]
        begin = time.perf_counter()
        done = subprocess.run([args.ullage, "pack", os.path.join(args.instances, name), "--capacity", capacity, "--json"],
                              capture_output=True, text=True)
        seconds = time.perf_counter() - begin
        total += seconds
        solved += done.returncode == 0
        print(f"{name:16} capacity {capacity}  {'solved' if done.returncode == 0 else 'NOT SOLVED'}  {seconds:7.2f} s")
    print(f"{solved} of {len(files)} solved in {total:.1f} s")
    full = os.path.join(args.instances, "../programs/seed_a_FULL_remat_dropout/program.mlir")
    if os.path.exists(full):
        for budget in (None, "51GiB"):
            command = [args.ullage, "plan", full, "--json"] + ([f"--memory-budget={budget}"] if budget else [])
            begin = time.perf_counter()
            done = subprocess.run(["/usr/bin/env", "python3", "-c",
                                   "import resource,subprocess,sys;r=subprocess.run(sys.argv[1:]);"
                                   "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss,file=sys.stderr);sys.exit(r.returncode)",
                                   *command], capture_output=True, text=True)
            seconds = time.perf_counter() - begin
            plan = json.loads(done.stdout)
            print(f"full report size, budget {budget}: peak {plan['planned_peak_bytes'] / 2**30:.2f} GiB, {seconds:.2f} s, "
                  f"process {int(done.stderr.split()[-1]) / 2**10:.0f} MiB")


if __name__ == "__main__":
    main()
