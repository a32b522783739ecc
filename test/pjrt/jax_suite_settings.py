"""A pytest plugin for jax_suite.py: tells JAX's tests what the device is like, and writes down what becomes of each."""
import os


def pytest_configure(config):
    if os.environ.get("ULLAGE_TEST_AS_CPU"):
        import jax
        import jax._src.test_util  # defines the setting
        jax.config.update("jax_test_dut", "cpu")


def _note(word, test):
    with open(os.environ["ULLAGE_TEST_OUTCOMES"], "a") as file:
        print(word, test.removeprefix("tests/"), file=file)


def pytest_runtest_logstart(nodeid, location):
    _note("STARTED", nodeid)


def pytest_runtest_logreport(report):
    if report.failed:
        _note("FAILED" if report.when == "call" else "ERROR", report.nodeid)
    elif report.skipped or report.when == "call":
        _note(report.outcome.upper(), report.nodeid)


def pytest_sessionfinish():
    _note("FINISHED", "")
