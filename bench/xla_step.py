"""Runs one stored program through XLA:CPU and prints what it cost as one JSON object.

    xla_step.py CASE_FOLDER [--repeat N] [--compile-only]

Needs jax==0.10.2 and jaxlib==0.10.2. Set XLA_FLAGS for other settings. Donated arguments are donated, as in the program.
"""
import argparse
import json
import os
import sys
import time


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--compile-only", action="store_true")
    args = parser.parse_args()
    folder = args.folder.rstrip("/")
    sys.path.insert(0, os.path.dirname(folder))
    import fill
    import jax
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jaxlib import _jax
    from jaxlib.mlir import ir

    with open(os.path.join(folder, "case.json")) as f:
        case = json.load(f)
    with open(os.path.join(folder, "program.mlir")) as f:
        text = f.read()
    device = jax.devices()[0]
    options = compiler.get_compile_options(num_replicas=1, num_partitions=1)
    with mlir.make_ir_context():
        blob = mlir.module_to_bytecode(ir.Module.parse(text))
    begin = time.perf_counter()
    executable = device.client.compile_and_load(blob, _jax.DeviceList((device,)), options)
    result = {"compile_seconds": time.perf_counter() - begin,
              "temp_bytes": executable.get_compiled_memory_stats().temp_size_in_bytes, "step_seconds": []}
    if not args.compile_only:
        inputs = [fill.fill(spec) for spec in case["inputs"]]
        for _ in range(args.repeat):
            buffers = [jax.device_put(x, device) for x in inputs]
            jax.block_until_ready(buffers)
            begin = time.perf_counter()
            out = executable.execute_sharded(buffers)
            jax.block_until_ready(out.disassemble_into_single_device_arrays())
            result["step_seconds"].append(time.perf_counter() - begin)
            del out, buffers
    print(json.dumps(result))


if __name__ == "__main__":
    main()
