#!/usr/bin/env python3
"""Runs stages of JAX's own test-suite on the plugin and compares what fails with jax_failures.txt.

    jax_suite.py STAGE --jax CHECKOUT [--python PYTHON] [--library PLUGIN] [--files NAME,NAME] [--log FOLDER]

CHECKOUT is a checkout of JAX at the tag of the installed version (its folder `tests`, `conftest.py` and `pyproject.toml` are
enough). Each file runs in a process of its own. Exit status 1 if a test fails that is not in the list, or a file takes too long.
`--platforms cpu` runs the same tests on XLA:CPU, for comparison.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

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
# What "core" leaves out of the numerical part of the suite.
STAGES["wide"] = STAGES["core"] + [(name, (), False) for name in (
    "lax_vmap_test", "lax_vmap_op_test", "lax_numpy_einsum_test", "lax_numpy_setops_test",
    "lax_numpy_ufuncs_test", "lax_numpy_vectorize_test", "lax_numpy_hijax_test", "lax_scipy_test", "lax_scipy_sparse_test",
    "lax_scipy_special_functions_test", "lax_scipy_spectral_dac_test", "random_test", "random_impl_test", "stateful_rng_test",
    "scipy_fft_test", "scipy_interpolate_test", "scipy_ndimage_test", "scipy_optimize_test", "scipy_signal_test",
    "scipy_spatial_test", "scipy_stats_test", "dtypes_test", "image_test", "export_test", "export_back_compat_test",
    "array_interoperability_test", "checkify_test", "custom_api_test", "custom_linear_solve_test",
    "custom_root_test", "sparse_test", "sparse_bcoo_bcsr_test", "sparsify_test", "eigh_test", "svd_test", "qdwh_test",
    "jet_test", "ode_test", "lobpcg_test", "stax_test", "optimizers_test", "polynomial_test", "ann_test", "scaled_dot_test",
    "unary_ops_accuracy_test", "jax_numpy_error_test", "array_extensibility_test", "shape_poly_test", "error_check_test",
    "generated_fun_test", "experimental_rnn_test", "x64_context_test", "buffer_callback_test", "cholesky_update_test",
    "key_reuse_test", "hijax_test", "errors_test", "tree_util_test", "memories_test", "layout_test")] + [
    ("compilation_cache_test", (), True)]
CASES = {"smoke": "1", "core": "2", "devices": "2", "wide": "2"}


def known_failures():
    """test -> reason."""
    out = {}
    for line in (HERE / "jax_failures.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition("  ")
            out[name.strip()] = reason.strip()
    return out


def run_file(options, stage, name, arguments, as_cpu):
    environment = dict(os.environ, JAX_PLATFORMS=options.platforms, JAX_NUM_GENERATED_CASES=CASES[stage],
                       JAX_SKIP_SLOW_TESTS="1", PYTHONPATH=os.pathsep.join([str(HERE), str(HERE.parents[1] / "python")]))
    if options.library:
        environment["ULLAGE_PJRT_LIBRARY"] = str(pathlib.Path(options.library).resolve())
    if stage == "devices":
        environment["ULLAGE_NUM_DEVICES"] = "8"
        environment["JAX_NUM_CPU_DEVICES"] = "8"
    if as_cpu:
        environment["ULLAGE_TEST_AS_CPU"] = "1"
    # Not captured: tests look at what arrives in the file behind standard output.
    command = [options.python, "-m", "pytest", "-p", "jax_suite_settings", "-p", "no:cacheprovider", "-s", "--tb=short", "-rf",
               f"tests/{name}.py", *arguments]
    late = False
    with tempfile.TemporaryDirectory() as folder:
        noted = pathlib.Path(folder) / "outcomes"
        environment["ULLAGE_TEST_OUTCOMES"] = str(noted)
        log = pathlib.Path(options.log or folder)
        log.mkdir(parents=True, exist_ok=True)
        with open(log / f"{name}.log", "w") as output:
            try:
                subprocess.run(command, cwd=options.jax, env=environment, stdout=output, stderr=subprocess.STDOUT,
                               timeout=options.limit)
            except subprocess.TimeoutExpired:
                late = True
        # Names of tests may have any character but a newline.
        lines = [line.partition(" ")[::2] for line in noted.read_text().split("\n") if line] if noted.exists() else []
    outcomes = {test: word for word, test in lines if word not in ("STARTED", "FINISHED")}
    failed = [test for test, outcome in outcomes.items() if outcome in ("FAILED", "ERROR")]
    counts = {word.lower(): list(outcomes.values()).count(word) for word in ("PASSED", "FAILED", "ERROR", "SKIPPED")}
    if lines and lines[-1][0] == "FINISHED":
        return failed, counts, ""
    running = [test for word, test in lines if word == "STARTED"][-1:]
    return failed, counts, ("too slow" if late else "broken off") + (f" in {running[0]}" if running else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stage", choices=sorted(STAGES))
    parser.add_argument("--jax", required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--library")
    parser.add_argument("--platforms", default="ullage,cpu")
    parser.add_argument("--files", help="only these files of the stage")
    parser.add_argument("--log", help="folder for what pytest prints")
    parser.add_argument("--limit", type=int, default=3600, help="seconds a file may take")
    options = parser.parse_args()
    known, new, cut, total = known_failures(), [], [], {}
    for name, arguments, as_cpu in STAGES[options.stage]:
        if options.files and name not in options.files.split(","):
            continue
        if not (pathlib.Path(options.jax) / "tests" / f"{name}.py").exists():
            continue
        failed, counts, ended = run_file(options, options.stage, name, arguments, as_cpu)
        new += [test for test in failed if test not in known]
        for word, number in counts.items():
            total[word] = total.get(word, 0) + number
        print(f"{name}: {counts} {ended}", flush=True)
        for test in failed:
            print(f"  {test}  {known.get(test, 'not in the list')}", flush=True)
        if ended:
            cut.append(name)
    print(f"{options.stage}: {total}, {len(new)} failures that are not in the list" +
          (f", not to the end: {', '.join(cut)}" if cut else ""))
    return 1 if new or cut else 0


if __name__ == "__main__":
    sys.exit(main())
