#!/usr/bin/env python3
"""The promise is a test: whatever the budget and the number of threads, a program stays inside and gives the same bits.

ULLAGE names the binary, ULLAGE_SOURCE_DIR the repository. `quick` runs the small training step of this folder; `long`
runs the repository's example and programs of the shared data (ULLAGE_SHARED, or ../shared beside the repository).
`every [PATTERN ...]` runs each program of the shared data whose name matches one of the regular expressions, and whose
peak without a budget is at most half of this machine's memory, inside five budgets with one and two threads, and says
apart whether its case was met.
"""
import json
import os
import re
import subprocess
import sys
import unittest

ULLAGE = os.environ["ULLAGE"]
SOURCE = os.environ["ULLAGE_SOURCE_DIR"]
SHARED = os.environ.get("ULLAGE_SHARED", os.path.join(SOURCE, "..", "shared"))

BUDGETS = 5
# Exit codes of a run to the end: the case met or not. `test_the_case_is_met` tells the two apart; as the bits are the
# same whatever the budget, the runs inside budgets need not ask again.
RAN = (0, 3)
MOVES = ["split", "recompute", "merge-recomputation", "checkpoint-loops"]


def ullage(verb, folder, *options):
    """Exit code, the JSON object and what was said on standard error."""
    command = [ULLAGE, verb, os.path.join(folder, "program.mlir"), "--json", *options]
    if verb == "run":
        command += ["--case", os.path.join(folder, "case.json")]
    flags = {**os.environ, "ULLAGE_FLAGS": "--verify-plan"}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=flags, timeout=1200)
    return result.returncode, json.loads(result.stdout) if result.stdout else None, result.stderr


class Kept(unittest.TestCase):
    """Every budget is kept, with the same bits; a subclass names the folder of a program."""
    folder = None
    most_bytes = None  # programs that need more are left out

    @classmethod
    def setUpClass(cls):
        if cls.folder is None or not os.path.exists(os.path.join(cls.folder, "program.mlir")):
            raise unittest.SkipTest(f"{cls.folder or 'the program'} is not there")
        if cls.most_bytes is not None:
            code, plan, said = ullage("plan", cls.folder, "--threads=2")
            assert code == 0, said
            if plan["planned_peak_bytes"] > cls.most_bytes:
                raise unittest.SkipTest(f"needs {plan['planned_peak_bytes']} bytes")
        code, report, said = ullage("run", cls.folder, "--threads=2")
        assert code in RAN, said
        cls.free = report
        # Scratch depends on the number of threads, and so does the floor.
        code, cls.refusal, said = ullage("run", cls.folder, "--threads=2", "--memory-budget=1B")
        assert code == 2, said

    def run_within(self, budget, *options):
        code, report, said = ullage("run", self.folder, f"--memory-budget={budget}", *options)
        self.assertIn(code, RAN, said or report)
        self.assertLessEqual(report["measured_peak_bytes"], budget)
        self.assertLessEqual(report["measured_peak_bytes"], report["planned_peak_bytes"])
        self.assertLessEqual(report["lower_bound_bytes"], report["planned_peak_bytes"])
        self.assertEqual(report["outputs_sha256"], self.free["outputs_sha256"])
        return report

    def test_the_case_is_met(self):
        self.assertTrue(self.free["check"]["passed"], self.free["check"].get("failures"))

    def test_every_budget_is_kept(self):
        code, alone, said = ullage("run", self.folder, "--threads=1", "--memory-budget=1B")
        self.assertEqual(code, 2, said)
        for threads, refusal in ((1, alone), (2, self.refusal)):
            floor, free = refusal["floor_bytes"], self.free["planned_peak_bytes"]
            for budget in sorted({floor + max(0, free - floor) * i // (BUDGETS - 1) for i in range(BUDGETS)}):
                with self.subTest(budget=budget, threads=threads):
                    self.run_within(budget, f"--threads={threads}")


class Promise(Kept):
    """What must hold for any program, more of it."""

    def test_threads_change_nothing(self):
        for threads in (1, 3):
            code, report, said = ullage("run", self.folder, f"--threads={threads}")
            self.assertIn(code, RAN, said or report)
            self.assertEqual(report["outputs_sha256"], self.free["outputs_sha256"])
            self.assertLessEqual(report["measured_peak_bytes"], report["planned_peak_bytes"])

    def test_one_below_the_floor(self):
        floor = self.refusal["floor_bytes"]
        code, report, said = ullage("run", self.folder, "--threads=2", f"--memory-budget={floor - 1}")
        self.assertEqual(code, 2, said)
        self.assertEqual((report["budget_bytes"], report["floor_bytes"]), (floor - 1, floor))
        self.assertEqual(report["lower_bound_bytes"], self.refusal["lower_bound_bytes"])
        self.assertLessEqual(report["lower_bound_bytes"], floor)
        self.assertTrue(report["obstacles"])
        for obstacle in report["obstacles"]:
            self.assertTrue(obstacle["bytes"] > 0 and obstacle["reason"] and obstacle["shape"], obstacle)
            self.assertNotIn("tensor<", obstacle["value"])
        # What the program computes has a line; arguments of a traced function have only a name.
        for obstacle in report["obstacles"]:
            if "argument" not in obstacle["reason"]:
                self.assertRegex(obstacle["source"], r"\w+:\d+$")

    def test_moves_switched_off_one_by_one(self):
        for move in MOVES:
            with self.subTest(move=move):
                code, refusal, said = ullage("run", self.folder, "--threads=2", "--memory-budget=1B", f"--disable={move}")
                self.assertEqual(code, 2, said)
                self.assertGreaterEqual(refusal["floor_bytes"], refusal["lower_bound_bytes"])
                self.run_within(refusal["floor_bytes"], "--threads=2", f"--disable={move}")


class SmallStep(Promise):
    folder = os.path.join(SOURCE, "test", "budget", "step")

    def test_moves_matter(self):
        """Without a move the floor is not lower, and without any it is higher."""
        floors = {}
        places = ["split@nowhere", "split@checkpointed_step.py"]
        for moves in ([], ["split"], ["recompute"], ["split", "recompute"], *([place] for place in places)):
            options = [f"--disable={','.join(moves)}"] if moves else []
            code, refusal, said = ullage("run", self.folder, "--threads=2", "--memory-budget=1B", *options)
            self.assertEqual(code, 2, said)
            floors[tuple(moves)] = refusal["floor_bytes"]
        self.assertLess(floors[()], self.free["planned_peak_bytes"])
        self.assertGreater(floors[("split", "recompute")], floors[()])
        # All of the program comes from one file, so a move that is off there is off.
        self.assertEqual(floors[("split@nowhere",)], floors[()])
        self.assertEqual(floors[("split@checkpointed_step.py",)], floors[("split",)])


class CheckpointedStep(Promise):
    folder = os.path.join(SOURCE, "examples", "checkpointed_step")


class Plain(Promise):
    folder = os.path.join(SHARED, "programs", "seed_a_CI_plain")


class RematDropout(Promise):
    folder = os.path.join(SHARED, "programs", "seed_a_CI_remat_dropout")


class StackedWeights(Promise):
    folder = os.path.join(SHARED, "programs", "seed_b_stacked_xW_b8_bf16")


class LoopOverWeights(Promise):
    folder = os.path.join(SHARED, "programs", "pain_int4_dequant_decode_b1")


class AttentionGradient(Promise):
    folder = os.path.join(SHARED, "programs", "pain_long_attention_grad")


class Decode(Promise):
    folder = os.path.join(SHARED, "programs", "gpt_decode_scan")


class LongLoopGradient(Promise):
    folder = os.path.join(SHARED, "programs", "pain_long_loop_grad")


class ScannedTraining(Promise):
    folder = os.path.join(SHARED, "programs", "gpt_scan_dropout")


class Vocabulary(Promise):
    folder = os.path.join(SHARED, "programs", "pain_vocabulary_loss_grad")


SUITES = {"quick": [SmallStep],
          "long": [CheckpointedStep, Plain, RematDropout, StackedWeights, LoopOverWeights, AttentionGradient, Decode,
                   LongLoopGradient, ScannedTraining, Vocabulary]}


def every(patterns):
    """A class for each program of the shared data."""
    most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    programs = os.path.join(SHARED, "programs")
    return [type(name, (Kept,), {"folder": os.path.join(programs, name), "most_bytes": most})
            for name in sorted(os.listdir(programs))
            if os.path.exists(os.path.join(programs, name, "case.json"))
            and (not patterns or any(re.search(pattern, name) for pattern in patterns))]


if __name__ == "__main__":
    loader = unittest.defaultTestLoader
    if sys.argv[1:2] == ["every"]:
        SUITES["every"] = every(sys.argv[2:])
    names = SUITES[sys.argv[1]] if len(sys.argv) > 1 else [case for cases in SUITES.values() for case in cases]
    suite = unittest.TestSuite(loader.loadTestsFromTestCase(case) for case in names)
    sys.exit(not unittest.TextTestRunner(verbosity=2 if "every" in sys.argv else 1).run(suite).wasSuccessful())
