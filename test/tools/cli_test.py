#!/usr/bin/env python3
"""Tests of the `ullage` command: exit codes, messages, JSON keys. ULLAGE names the binary."""
import base64
import json
import os
import subprocess
import tempfile
import unittest

ULLAGE = os.environ["ULLAGE"]
SOURCE = os.environ["ULLAGE_SOURCE_DIR"]

PLAN_KEYS = ["program", "budget_bytes", "argument_bytes", "output_bytes", "alias_bytes", "constant_bytes", "temp_bytes",
             "planned_peak_bytes", "lower_bound_bytes", "recompute_flops_ratio", "predicted_seconds", "compile_seconds"]
RUN_KEYS = PLAN_KEYS + ["measured_peak_bytes", "process_peak_bytes", "step_seconds", "outputs_sha256", "check"]
REFUSAL_KEYS = ["budget_bytes", "floor_bytes", "lower_bound_bytes", "obstacles"]

# y = exp(x) + exp(x) * x over 1 MiB; sum of it.
PROGRAM = """module @small {
  func.func public @main(%arg0: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<f32>) {
    %0 = stablehlo.exponential %arg0 : tensor<512x512xf32>
    %1 = stablehlo.multiply %0, %arg0 : tensor<512x512xf32>
    %2 = stablehlo.add %0, %1 : tensor<512x512xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %3 = stablehlo.reduce(%2 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<f32>
    return %2, %3 : tensor<512x512xf32>, tensor<f32>
  }
}
"""
DEAD = """func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.exponential %x : tensor<4xf32>
  return %x : tensor<4xf32>
}
"""
# Of x = 0 everywhere: y = 1, and 262,144 of them.
CASE = {"name": "small", "inputs": [{"shape": [512, 512], "dtype": "f32", "fill": "const", "value": 0}],
        "outputs": [{"name": "y", "shape": [512, 512], "dtype": "f32", "sum": 262144, "sumsq": 262144, "absmax": 1,
                     "tol_abs": 1e-6, "tol_sum": 1e-3, "tol_sumsq": 1e-3, "sample": {"stride": 1000, "values": [1] * 16}},
                    {"name": "total", "shape": [], "dtype": "f32", "sum": 262144, "sumsq": 262144 ** 2, "absmax": 262144,
                     "tol_abs": 1, "tol_sum": 1, "tol_sumsq": 1e6, "sample": {"stride": 1, "values": [262144]}}]}


def check_module(name, expected):
    return f"""module @{name} {{
  func.func @main() {{
    %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %1 = stablehlo.add %0, %0 : tensor<2xi32>
    check.expect_eq_const %1, dense<{expected}> : tensor<2xi32>
    return
  }}
}}
"""


# module @twice: main(%arg0: tensor<4xf32> {jax.buffer_donor = true}) adds its argument to itself.
TWICE = base64.b64decode("""
    TUzvUg1TdGFibGVITE9fdjEuMTMuMAABGQUBBQkBAwsDBw8TFwM1HwcBDwsLExMTExMDEQ8TCwsLCwsLAwcTFwcCawUNBQ8XAQMDFwED
    IxcBA1EXAQUPFwEHBQMDEQ0DExUdEQUDIwMDAR0THRUpAxEFEQMBAwEJBE0FAVAFAQcEPQMBBQNQBwMHBCkDBQsDAwkABQYLAwEFAQEH
    BA0DAwYDAQUBAL0XDwsjDQUVDxEPCxFidWlsdGluAHZobG8AbW9kdWxlAGZ1bmNfdjEAYWRkX3YxAHJldHVybl92MQAtAHR3aWNlAGph
    eC5idWZmZXJfZG9ub3IAbWFpbgBwdWJsaWMACBUFBQcBCw8XGRsd
""")
# module @check: main() expects [1, 2] + [1, 2] to be [2, 4].
SUM_CHECK = base64.b64decode("""
    TUzvUg1TdGFibGVITE9fdjEuMTMuMAABHQUBBQ0BAwsDCw8TFxsfAz0nBwETCwsTExMTExMTAxULCwsLLy8LCwsLAwcTDwcCnQURBRMX
    AQMDFwEDIxcBBQ8XAQcPFwEJDxcBCwUXAQ0FAwEjAx0VHRcfAREBAAAAAgAAAB8BEQIAAAAEAAAACwMdGR0bBQMpAwkFEQEBGwRnBQFQ
    BQEHBFcDAQUFUAcDBwRDAwcVA0IJBQMBA0ILBwMBBwYNAwEFAQEJRA8JBQUDCwARBgMBBQEA+R0hAw8LDQUVHw8RGQ8LEWJ1aWx0aW4A
    dmhsbwBtb2R1bGUAY29uc3RhbnRfdjEAZnVuY192MQBhZGRfdjEAY3VzdG9tX2NhbGxfdjEAcmV0dXJuX3YxAC0AY2hlY2sAbWFpbgBw
    dWJsaWMAAGNoZWNrLmV4cGVjdF9lcQAILwsFBwELExUTFxkDGwMdER8hIxMlExMT
""")


class Cli(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, content):
        if not isinstance(content, (str, bytes)):
            content = json.dumps(content)
        with open(self.path(name), "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        return self.path(name)

    def ullage(self, *arguments, stdin="", flags=""):
        environment = {**os.environ, "ULLAGE_FLAGS": "--verify-plan " + flags}
        return subprocess.run([ULLAGE, *arguments], input=stdin, capture_output=True, text=True, check=False,
                              cwd=self.folder.name, env=environment, timeout=300)

    def expect(self, code, *arguments, stdout=None, stderr=None, stdin="", flags=""):
        """Runs the command and checks its exit code; stdout and stderr must contain the given texts."""
        result = self.ullage(*arguments, stdin=stdin, flags=flags)
        self.assertEqual(result.returncode, code, f"{arguments}\n{result.stdout}\n{result.stderr}")
        if stdout is not None:
            self.assertIn(stdout, result.stdout)
        if stderr is not None:
            self.assertIn(stderr, result.stderr)
        if code == 1:
            self.assertIn("error: ", result.stderr)
        return result

    def expect_json(self, code, *arguments):
        return json.loads(self.expect(code, *arguments).stdout)


class General(Cli):
    def test_help_and_version(self):
        self.expect(0, "help", stdout="ullage VERB [operands] [options]")
        self.expect(0, "--help", stdout="exit codes")
        self.expect(0, "help", "run", stdout="--memory-budget SIZE")
        self.expect(0, "run", "--help", stdout="--memory-budget SIZE")
        self.expect(0, "version", stdout="ullage 0.")
        self.expect(0, "--version", stdout="ullage 0.")

    def test_wrong_words(self):
        self.expect(1, stderr="error: the first word must be a verb")
        self.expect(1, "--json", stderr="error: the first word must be a verb")
        self.expect(1, "fly", stderr="error: unknown verb 'fly'\n  help: 'ullage help' lists the verbs")
        self.expect(1, "help", "fly", stderr="error: unknown verb 'fly'")
        self.expect(1, "run", stderr="error: 'run' needs FILE\n  help: usage: ullage run FILE [options]")
        self.expect(1, "run", "a", "b", stderr="error: unexpected operand 'b'")

    def test_wrong_options(self):
        result = self.expect(1, "run", "p.mlir", "--memory-budget=12XB")
        self.assertEqual(result.stderr.count("error:"), 1)
        self.expect(1, "run", "p.mlir", "--memory-bugdet=1GiB", stderr="help: did you mean --memory-budget?")
        self.expect(1, "pack", "p.csv", "--memory-budget=1", stderr="--memory-budget does not apply to 'pack'")
        self.expect(1, "run", "p.mlir", flags="--repeat=0", stderr="(in ULLAGE_FLAGS)")
        self.expect(1, "run", "p.mlir", "--json", "--json", stderr="--json is given twice")

    def test_the_page_of_options(self):
        with open(os.path.join(SOURCE, "docs", "reference", "options.md"), encoding="utf-8") as file:
            self.assertEqual(self.expect(0, "options", "--markdown").stdout, file.read())
        self.expect(0, "options", stdout="--memory-budget")

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = subprocess.run([ULLAGE, "options"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("No space left", result.stderr)


class Pack(Cli):
    rows = "id,lower,upper,size\na,0,2,4\nb,1,3,4\nc,2,4,4\n"

    def check_rows(self, text, capacity):
        lines = [line.split(",") for line in text.split()]
        self.assertEqual(lines[0], ["id", "lower", "upper", "size", "offset"])
        rows = [(name, *map(int, numbers)) for name, *numbers in lines[1:]]
        for i, (_, lower, upper, size, offset) in enumerate(rows):
            self.assertTrue(0 <= offset <= capacity - size)
            for _, other_lower, other_upper, other_size, other_offset in rows[:i]:
                together = lower < other_upper and other_lower < upper
                self.assertFalse(together and offset < other_offset + other_size and other_offset < offset + size)
        return [row[0] for row in rows]

    def test_fits(self):
        path = self.write("rows.csv", self.rows)
        result = self.expect(0, "pack", path, "--capacity", "8")
        self.assertEqual(self.check_rows(result.stdout, 8), ["a", "b", "c"])
        result = self.expect(0, "pack", "-", "--capacity=8", stdin=self.rows)
        self.check_rows(result.stdout, 8)

    def test_cannot_fit(self):
        path = self.write("rows.csv", self.rows)
        self.expect(2, "pack", path, "--capacity=7", stderr="do not fit into 7")
        report = self.expect_json(2, "pack", path, "--capacity=7", "--json")
        self.assertEqual((report["fits"], report["proved_infeasible"], report["max_live"]), (False, True, 8))
        self.assertTrue(set(report["obstacle"]) <= {"a", "b", "c"} and report["obstacle"])

    def test_json(self):
        report = self.expect_json(0, "pack", self.write("rows.csv", self.rows), "--capacity=8", "--json")
        self.assertTrue(report["fits"])
        self.assertEqual(sorted(report["offsets"]), ["a", "b", "c"])

    def test_wrong_rows(self):
        self.expect(1, "pack", "missing.csv", "--capacity=1", stderr="cannot open 'missing.csv'")
        self.expect(1, "pack", self.write("x.csv", "id,lower,upper,size\na,0,2,x\n"), "--capacity=1", stderr="x.csv:2")
        self.expect(1, "pack", self.write("x.csv", "id,lower,upper,size\na,2,2,1\n"), "--capacity=1", stderr="x.csv:2")


class Check(Cli):
    def test_counts(self):
        good = self.write("good.mlir", check_module("good", "[2, 4]"))
        bad = self.write("bad.mlir", check_module("bad", "[2, 5]"))
        self.expect(0, "check", good, stdout="1 passed, 0 failed\n")
        self.expect(3, "check", bad, good, stdout="1 passed, 1 failed\n", stderr="bad.mlir:5")

    def test_several_modules_and_standard_input(self):
        both = check_module("a", "[2, 4]") + "// -----\n" + check_module("b", "[2, 4]")
        self.expect(0, "check", "-", stdin=both, stdout="2 passed, 0 failed\n")

    def test_the_compiled_engine(self):
        both = self.write("both.mlir", check_module("a", "[2, 4]") + "// -----\n" + check_module("b", "[2, 5]"))
        self.expect(3, "check", both, "--engine=compiled", stderr="both.mlir:",
                    stdout="1 passed, 1 failed, 0 not supported by the compiler\n")
        # A shape that the program computes is the interpreter's alone: counted apart, and no failure.
        computed = """func.func @main() {
  %i = stablehlo.constant dense<2> : tensor<1xi32>
  %s = stablehlo.optimization_barrier %i : tensor<1xi32>
  %0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
  %1 = stablehlo.get_dimension_size %0, dim = 0 : (tensor<?xi32>) -> tensor<i32>
  %w = stablehlo.constant dense<2> : tensor<i32>
  check.expect_eq %1, %w : tensor<i32>
  return
}
"""
        path = self.write("computed.mlir", computed)
        self.expect(0, "check", path, stdout="1 passed, 0 failed\n")
        self.expect(0, "check", path, "--engine=compiled", stderr="warning: @main is not supported",
                    stdout="0 passed, 0 failed, 1 not supported by the compiler\n")

    def test_what_is_no_program(self):
        good = self.write("good.mlir", check_module("good", "[2, 4]"))
        self.expect(1, "check", self.write("x.mlir", "module {"), good, stdout="1 passed, 1 failed\n", stderr="x.mlir:1")
        self.expect(1, "check", self.write("y.mlir", PROGRAM), stderr="no public function without arguments")
        self.expect(1, "check", self.folder.name, stderr="Is a directory")


class Run(Cli):
    def setUp(self):
        super().setUp()
        self.program = self.write("p.mlir", PROGRAM)
        self.case = self.write("case.json", CASE)

    def test_run_and_judge(self):
        report = self.expect_json(0, "run", self.program, "--case", self.case, "--repeat=3", "--json")
        self.assertEqual([key for key in RUN_KEYS if key not in report], [])
        self.assertIsNone(report["budget_bytes"])
        self.assertEqual((len(report["step_seconds"]), len(report["outputs_sha256"])), (3, 2))
        self.assertTrue(report["check"]["passed"])
        self.assertLessEqual(report["measured_peak_bytes"], report["planned_peak_bytes"])
        self.assertGreaterEqual(report["planned_peak_bytes"], report["lower_bound_bytes"])
        self.assertEqual((report["argument_bytes"], report["output_bytes"]), (1 << 20, (1 << 20) + 4))
        self.expect(0, "run", self.program, "--case", self.case, stdout="check passed")

    def test_a_wrong_expectation_fails(self):
        case = json.loads(json.dumps(CASE))
        case["outputs"][0]["sample"]["values"][3] = 2
        result = self.expect(3, "run", self.program, "--case", self.write("wrong.json", case), "--json")
        self.assertFalse(json.loads(result.stdout)["check"]["passed"])

    def test_bits_do_not_depend_on_budget_and_threads(self):
        hashes = set()
        for extra in ([], ["--threads=1"], ["--threads=3"], ["--memory-budget=3MiB"]):
            report = self.expect_json(0, "run", self.program, "--case", self.case, "--json", *extra)
            hashes.add(tuple(report["outputs_sha256"]))
        self.assertEqual(len(hashes), 1)

    def test_compare_with_the_interpreter(self):
        self.expect(0, "run", self.program, "--case", self.case, "--compare=interpreter")

    def test_arrays_in_and_out(self):
        self.expect(0, "run", self.program, "--case", self.case, "--output", self.path("out.npz"))
        # The output y has the argument's type; its member is the file of a new run's input.
        import zipfile
        with zipfile.ZipFile(self.path("out.npz")) as archive:
            self.assertEqual(archive.namelist(), ["out0.npy", "out1.npy"])
            self.assertIsNone(archive.testzip())
            one = self.write("one.npy", archive.read("out0.npy"))
            scalar = self.write("scalar.npy", archive.read("out1.npy"))
        self.expect(0, "run", self.program, "--input", one)
        self.expect(1, "run", self.program, "--input", scalar, stderr="argument 0 needs tensor<512x512xf32>")
        self.expect(1, "run", self.program, "--input", f"{one},{one}", stderr="2 arrays given")
        self.expect(1, "run", self.program, stderr="0 arrays given")
        self.expect(1, "run", self.program, "--input", self.write("cut.npy", b"\x93NUMPY\1\0v\0"), stderr="cut off")

    def test_a_budget_that_cannot_be_met(self):
        report = self.expect_json(2, "run", self.program, "--case", self.case, "--memory-budget=1MiB", "--json")
        self.assertEqual([key for key in REFUSAL_KEYS if key not in report], [])
        self.assertEqual(report["budget_bytes"], 1 << 20)
        self.assertGreaterEqual(report["floor_bytes"], report["lower_bound_bytes"])
        self.assertGreater(report["lower_bound_bytes"], 1 << 20)
        for obstacle in report["obstacles"]:
            self.assertEqual([key for key in ("value", "bytes", "shape", "source", "reason") if key not in obstacle], [])
        self.expect(2, "run", self.program, "--case", self.case, "--memory-budget=1MiB", stderr="the smallest budget that works")
        floor = str(report["floor_bytes"])
        report = self.expect_json(0, "run", self.program, "--case", self.case, "--memory-budget", floor, "--json")
        self.assertLessEqual(report["measured_peak_bytes"], int(floor))

    def test_flags_from_the_environment(self):
        self.expect(2, "run", self.program, "--case", self.case, flags="--memory-budget=1MiB")
        self.expect(0, "run", self.program, "--case", self.case, "--memory-budget=1GiB", flags="--memory-budget=1MiB")

    def test_wrong_input(self):
        self.expect(1, "run", "missing.mlir", stderr="cannot open 'missing.mlir': No such file")
        self.expect(1, "run", self.write("x.mlir", b"\x00\xff\xfe garbage"), stderr="x.mlir")
        self.expect(1, "run", self.write("x.mlir", ""), stderr="x.mlir")
        self.expect(1, "run", self.program, "--case", self.write("x.json", "{"), stderr="x.json' is not valid JSON")
        case = {**CASE, "inputs": []}
        self.expect(1, "run", self.program, "--case", self.write("x.json", case), stderr="0 inputs")

    def test_standard_input(self):
        self.expect(0, "run", "-", "--case", self.case, stdin=PROGRAM)
        self.expect(1, "run", "-", "--case", self.case, stdin="module {", stderr="<stdin>:1")


class Plan(Cli):
    def test_plan(self):
        program = self.write("p.mlir", PROGRAM)
        report = self.expect_json(0, "plan", program, "--json")
        self.assertEqual([key for key in PLAN_KEYS if key not in report], [])
        self.expect(0, "plan", program, "--csv", self.path("b.csv"), stdout="planned peak")
        self.expect(0, "pack", self.path("b.csv"), "--capacity", str(report["planned_peak_bytes"]))
        self.expect(1, "plan", program, "--csv", "/nowhere/b.csv", stderr="cannot write '/nowhere/b.csv'")
        report = self.expect_json(2, "plan", program, "--memory-budget=1B", "--json")
        self.assertEqual([key for key in REFUSAL_KEYS if key not in report], [])

    def test_pareto(self):
        report = self.expect_json(0, "plan", self.write("p.mlir", PROGRAM), "--pareto=3", "--json")
        times = [point["predicted_seconds"] for point in report["pareto"]]
        self.assertEqual(times, sorted(times, reverse=True))

    def test_pareto_begins_at_the_floor_of_all_forms(self):
        program = os.path.join(SOURCE, "examples", "checkpointed_step", "program.mlir")
        floor = self.expect_json(2, "plan", program, "--memory-budget=1MiB", "--json")["floor_bytes"]
        points = self.expect_json(0, "plan", program, "--pareto=3", "--json")["pareto"]
        self.assertEqual(points[0]["budget_bytes"], floor)
        self.assertEqual(len(points), 3)


class Opt(Cli):
    def test_the_text_can_be_read_again(self):
        program = self.write("p.mlir", PROGRAM)
        first = self.expect(0, "opt", program).stdout
        self.assertIn("stablehlo.exponential", first)
        self.assertEqual(self.expect(0, "opt", "-", stdin=first).stdout, first)

    def test_dumps(self):
        self.expect(0, "opt", self.write("p.mlir", PROGRAM), "--dump-dir", self.path("dumps"))
        self.assertTrue(os.listdir(self.path("dumps")))
        with open(self.path("dumps/phases.txt"), encoding="utf-8") as file:
            self.assertIn("simplify", file.read())

    def test_disabled_passes(self):
        program = self.write("p.mlir", DEAD)
        self.assertNotIn("exponential", self.expect(0, "opt", program).stdout)
        for where in ("", "@main"):
            off = ",".join(name + where for name in ("simplify", "simplify-again", "remove-dead"))
            self.expect(0, "opt", program, "--disable", off, stdout="exponential")
        self.expect(1, "opt", program, "--disable=hoist", stderr='no pass or move named "hoist"')
        self.expect(1, "run", program, "--disable=simplify@moon", stderr='no function "moon"')

    def test_unknown_phase_and_pass(self):
        program = self.write("p.mlir", PROGRAM)
        self.expect(1, "opt", program, "--to=moon", stderr="moon")
        self.expect(1, "opt", program, "--passes=moon", stderr="moon")



class Bytecode(Cli):
    """Artifacts are known by their first bytes, whatever the file is called."""

    def piped(self, code, content, *arguments):
        result = subprocess.run([ULLAGE, *arguments], input=content, capture_output=True, check=False, timeout=300,
                                cwd=self.folder.name)
        self.assertEqual(result.returncode, code, result.stderr)
        return (result.stdout + result.stderr).decode()

    def test_every_verb(self):
        case = {"name": "twice", "inputs": [{"shape": [4], "dtype": "f32", "fill": "const", "value": 3}],
                "outputs": [{"name": "y", "shape": [4], "dtype": "f32", "sum": 24, "sumsq": 144, "absmax": 6,
                             "tol_abs": 1e-6, "tol_sum": 1e-6, "tol_sumsq": 1e-6,
                             "sample": {"stride": 1, "values": [6] * 4}}]}
        case = self.write("case.json", case)
        for name in ("twice.mlirbc", "twice", "twice.mlir"):
            path = self.write(name, TWICE)
            self.expect(0, "run", path, "--case", case)
            self.assertEqual(self.expect_json(0, "plan", path, "--json")["argument_bytes"], 16)
            self.expect(0, "opt", path, stdout="%0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>")
        self.expect(0, "check", self.write("check.mlirbc", SUM_CHECK), stdout="1 passed, 0 failed\n")

    def test_standard_input(self):
        self.assertIn("module @twice", self.piped(0, TWICE, "opt", "-"))
        self.assertIn("planned peak", self.piped(0, TWICE, "plan", "-"))
        self.assertIn("1 passed, 0 failed", self.piped(0, SUM_CHECK, "check", "-"))

    def test_damage_is_reported_with_its_place(self):
        for cut in (5, 66, 200, len(TWICE) - 1):
            for verb in ("run", "plan", "opt", "check"):
                self.assertIn("<stdin>: error: byte ", self.piped(1, TWICE[:cut], verb, "-"))


if __name__ == "__main__":
    unittest.main()
