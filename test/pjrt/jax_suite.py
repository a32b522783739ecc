#!/usr/bin/env python3
"""Runs stages of JAX's own test-suite on the plugin and compares what fails with jax_failures.txt.

    jax_suite.py STAGE --jax CHECKOUT [--python PYTHON] [--library PLUGIN]

CHECKOUT is a checkout of JAX at the tag of the installed version (its folder `tests`, `conftest.py` and `pyproject.toml` are
enough). Each file runs in a process of its own. Exit status 1 if a test fails that is not in the list.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

# stage -> (file, pytest arguments, whether the tests are told that the device is a cpu)
STAGES = {
    "smoke": [
        ("jax_jit_test", (), False), ("ffi_test", (), False), ("debug_nans_test", (), False),
        ("debugging_primitives_test", (), False), ("aot_test", (), False), ("fft_test", (), False), ("array_test", (), False),
        ("core_test", ("-k", "not test_jvp"), False),
        ("lax_test", ("-k", "testConvGeneralDilated or testDotGeneral or testReduce or testSort or testGather or testScatter"),
         False),
    ],
    "core": [
        ("lax_test", (), False), ("lax_control_flow_test", (), False), ("random_lax_test", (), False),
        ("lax_autodiff_test", (), False), ("fft_test", (), False), ("linalg_test", ("-k", "not Svd"), False),
        ("lax_numpy_test", (), False), ("lax_numpy_operators_test", (), False), ("lax_numpy_reducers_test", (), False),
        ("lax_numpy_indexing_test", (), False), ("api_test", (), True), ("batching_test", (), False),
        ("nn_test", ("-k", "not Attention"), False), ("python_callback_test", (), True), ("mutable_array_test", (), False),
        ("debug_nans_test", (), False),
    ],
    "devices": [(name, (), True) for name in ("shard_map_test", "pjit_test", "array_test", "memories_test", "layout_test",
                                              "multi_device_test", "linalg_sharding_test", "pmap_test")],
}
CASES = {"smoke": "1", "core": "2", "devices": "2"}


def known_failures():
    """test -> reason."""
    out = {}
    for line in (HERE / "jax_failures.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition("  ")
            out[name.strip()] = reason.strip()
    return out


def run_file(options, stage, name, arguments, as_cpu):
    environment = dict(os.environ, JAX_PLATFORMS="ullage,cpu", JAX_NUM_GENERATED_CASES=CASES[stage], JAX_SKIP_SLOW_TESTS="1",
                       PYTHONPATH=os.pathsep.join([str(HERE), str(HERE.parents[1] / "python")]))
    if options.library:
        environment["ULLAGE_PJRT_LIBRARY"] = str(pathlib.Path(options.library).resolve())
    if stage == "devices":
        environment["ULLAGE_NUM_DEVICES"] = "8"
    if as_cpu:
        environment["ULLAGE_TEST_AS_CPU"] = "1"
    command = [options.python, "-m", "pytest", "-p", "jax_suite_settings", "-p", "no:cacheprovider", "-q", "--tb=no", "-rf",
               f"tests/{name}.py", *arguments]
    result = subprocess.run(command, cwd=options.jax, env=environment, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, timeout=options.limit)
    failed = re.findall(r"^(?:FAILED|ERROR) tests/(\S+)", result.stdout, re.MULTILINE)
    counts = dict((word, int(number)) for number, word in re.findall(r"(\d+) (passed|failed|skipped)", result.stdout))
    return failed, counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stage", choices=sorted(STAGES))
    parser.add_argument("--jax", required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--library")
    parser.add_argument("--limit", type=int, default=3600, help="seconds a file may take")
    options = parser.parse_args()
    known, new, total = known_failures(), [], {}
    for name, arguments, as_cpu in STAGES[options.stage]:
        failed, counts = run_file(options, options.stage, name, arguments, as_cpu)
        new += [test for test in failed if test not in known]
        for word, number in counts.items():
            total[word] = total.get(word, 0) + number
        print(f"{name}: {counts}", flush=True)
        for test in failed:
            print(f"  {test}  {known.get(test, 'not in the list')}", flush=True)
    print(f"{options.stage}: {total}, {len(new)} failures that are not in the list")
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
