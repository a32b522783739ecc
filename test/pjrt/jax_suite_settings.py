"""A pytest plugin for jax_suite.py: tells JAX's tests what the device is like."""
import os


def pytest_configure(config):
    if os.environ.get("ULLAGE_TEST_AS_CPU"):
        import jax
        import jax._src.test_util  # defines the setting
        jax.config.update("jax_test_dut", "cpu")
