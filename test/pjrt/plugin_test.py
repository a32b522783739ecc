#!/usr/bin/env python3
"""Unmodified JAX on the plugin: arithmetic, donation, budgets, errors, callbacks, random bits, threads, interrupts."""
import gc
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import unittest

try:
    import jax
    import jax.numpy as jnp
    import numpy as np
except ImportError:
    print("skipped: this Python has no JAX")
    sys.exit(77)


def on_cpu(function, *args):
    """The same function on XLA's own CPU backend."""
    cpu = jax.devices("cpu")[0]
    with jax.default_device(cpu):
        return jax.jit(function)(*jax.device_put(args, cpu))


class Values(unittest.TestCase):
    def test_the_default_device_is_ours(self):
        self.assertEqual(jax.devices()[0].platform, "ullage")
        np.testing.assert_array_equal(jnp.arange(8) + 1, np.arange(1, 9))

    def test_results_keep_their_shapes(self):
        x = np.arange(6, dtype=np.int32)
        self.assertEqual(jax.jit(lambda a: a.reshape(3, 2))(x).shape, (3, 2))
        np.testing.assert_array_equal(jnp.reshape(jnp.asarray(x), (3, 2))[1:2], [[2, 3]])

    def test_gradients(self):
        x = np.random.default_rng(0).normal(size=(32, 32)).astype(np.float32)
        f = lambda a: jnp.sum(jnp.tanh(a @ a) ** 2)
        np.testing.assert_allclose(jax.jit(jax.grad(f))(x), on_cpu(jax.grad(f), x), rtol=2e-5, atol=2e-5)

    def test_views_and_orders_of_numpy_arrays(self):
        x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
        for view in (x.T, x[:, ::-1], x[..., 1:3], x[::2], np.asfortranarray(x)):
            np.testing.assert_array_equal(jax.device_put(view), view)

    def test_element_types(self):
        for dtype in (np.bool_, np.int8, np.uint8, np.int16, np.uint32, np.float16, jnp.bfloat16, np.complex64, jnp.int4):
            x = jnp.asarray([0, 1, 2, 3], dtype=dtype)
            np.testing.assert_array_equal(np.asarray(jax.jit(lambda a: a)(x)), np.asarray(x))

    def test_random_bits_are_those_of_xla(self):
        for kind in ("threefry2x32", "rbg", "unsafe_rbg"):
            f = lambda seed: [jax.random.bits(jax.random.split(jax.random.key(seed, impl=kind))[1], (5,)),
                              jax.random.uniform(jax.random.key(seed, impl=kind), (7,)),
                              jax.random.randint(jax.random.key(seed, impl=kind), (3,), 0, 1000)]
            for ours, theirs in zip(jax.jit(f)(7), on_cpu(f, 7)):
                np.testing.assert_array_equal(ours, theirs, err_msg=kind)

    def test_updates_partly_outside_are_dropped_whole(self):
        numbers = jax.lax.ScatterDimensionNumbers((1,), (), (0,))
        for dtype in (np.int32, np.int8, np.uint32):
            indices = np.array([[7], [9], [8], [0]], dtype)
            if dtype != np.uint32:
                indices[3] = -1
            f = lambda x, y: [jax.lax.scatter_add(x, indices, y, numbers), jax.lax.scatter(x, indices, y, numbers)]
            x, y = np.zeros(10, np.float32), np.arange(1, 9, dtype=np.float32).reshape(4, 2)
            for ours, theirs in zip(jax.jit(f)(x, y), on_cpu(f, x, y)):
                np.testing.assert_array_equal(ours, theirs, err_msg=str(dtype))

    def test_linear_algebra(self):
        a = np.random.default_rng(1).normal(size=(5, 5)).astype(np.float32)
        s = a @ a.T + 5 * np.eye(5, dtype=np.float32)
        np.testing.assert_allclose(jnp.linalg.eigvalsh(s), np.linalg.eigvalsh(s), rtol=1e-4)
        np.testing.assert_allclose(jnp.linalg.svd(a, compute_uv=False), np.linalg.svd(a, compute_uv=False), rtol=1e-4)
        np.testing.assert_allclose(jnp.linalg.solve(s, a), np.linalg.solve(s, a), rtol=1e-3, atol=1e-4)


class Memory(unittest.TestCase):
    def test_a_donated_array_is_the_result(self):
        x = jnp.ones((300, 300))
        address = x.unsafe_buffer_pointer()
        y = jax.jit(lambda a: a + 1, donate_argnums=0)(x)
        self.assertTrue(x.is_deleted())
        self.assertEqual(y.unsafe_buffer_pointer(), address)

    def test_arrays_that_others_see_are_not_overwritten(self):
        x = np.ones((300, 300), np.float32)
        y = jax.device_put(x)
        jax.jit(lambda a: a + 1, donate_argnums=0)(y)
        np.testing.assert_array_equal(x, 1)
        z = jnp.zeros((300, 300))
        seen = np.asarray(z)
        jax.jit(lambda a: a + 1, donate_argnums=0)(z)
        np.testing.assert_array_equal(seen, 0)

    def test_donating_twice_is_an_error(self):
        x = jnp.ones(8)
        with self.assertRaisesRegex(Exception, "donate the same buffer twice"):
            jax.jit(lambda a, b: (a + 1, b + 1), donate_argnums=(0, 1))(x, x)

    def test_analysis_agrees_with_the_plan(self):
        x = np.ones((64, 64), np.float32)
        compiled = jax.jit(lambda a: jnp.sin(a) @ a).lower(x).compile()
        memory = compiled.memory_analysis()
        self.assertEqual(memory.argument_size_in_bytes, x.nbytes)
        self.assertEqual(memory.output_size_in_bytes, x.nbytes)
        self.assertGreaterEqual(compiled.cost_analysis()["flops"], 2 * 64 ** 3)
        self.assertIn("dot", compiled.as_text())

    def test_the_text_is_the_same_wherever_it_is_compiled(self):
        def text(f):
            return f.lower(np.ones(3, np.float32)).compile().as_text()
        f = jax.jit(lambda a: a * a + 1)
        here = text(f)
        jax.clear_caches()
        self.assertEqual(here, (lambda: text(f))())
        self.assertIn("plugin_test.py", here)

    def test_what_is_sunk_is_computed(self):
        def f(x):
            jax.lax.dce_sink(x * 3, prevent_mlir_dce=True)
            return x + 1
        compiled = jax.jit(f).lower(np.ones(3, np.float32)).compile()
        self.assertIn("multiply", compiled.as_text())
        np.testing.assert_array_equal(compiled(np.ones(3, np.float32)), 2)

    def test_a_budget_keeps_the_bits(self):
        def f(x, w):
            for _ in range(4):
                x = jnp.tanh(x @ w)
            return jnp.sum(x)
        rng = np.random.default_rng(2)
        x, w = (rng.normal(size=s).astype(np.float32) for s in ((2048, 64), (64, 64)))
        free = jax.jit(jax.grad(f)).lower(x, w).compile()
        peak = free.memory_analysis().peak_memory_in_bytes
        tight = jax.jit(jax.grad(f), compiler_options={"ullage_memory_budget": peak * 2 // 3}).lower(x, w).compile()
        self.assertLessEqual(tight.memory_analysis().peak_memory_in_bytes, peak * 2 // 3)
        np.testing.assert_array_equal(free(x, w), tight(x, w))

    def test_an_impossible_budget_says_why(self):
        f = jax.jit(lambda a: jnp.tanh(a @ a) @ a, compiler_options={"ullage_memory_budget": "1MiB"})
        with self.assertRaisesRegex(Exception, "RESOURCE_EXHAUSTED") as caught:
            f(np.ones((500, 500), np.float32))
        self.assertRegex(str(caught.exception), r'smallest budget that works is .* \(compiler_options=\{"ullage_memory_budget": \d+\}\)')
        self.assertRegex(str(caught.exception), r"plugin_test\.py:\d+")

    def test_reports(self):
        import ullage
        f = lambda a: jnp.tanh(a @ a) @ a
        x = jax.ShapeDtypeStruct((256, 256), np.float32)
        compiled = jax.jit(f).lower(x).compile()
        report = ullage.memory_report(compiled)
        self.assertEqual(report.planned_peak_bytes, compiled.memory_analysis().peak_memory_in_bytes)
        self.assertIn("peak", report.text)
        self.assertIn("<html", report.html.lower())
        self.assertLessEqual(ullage.plan(f, x, memory_budget="1MiB").planned_peak_bytes, 1 << 20)
        with self.assertRaisesRegex(ValueError, "smallest budget"):
            ullage.plan(f, x, memory_budget="100kB")

    def test_serialised_executables(self):
        from jax.experimental import serialize_executable
        x = np.arange(8, dtype=np.float32)
        compiled = jax.jit(lambda a: jnp.cos(a) * 2).lower(x).compile()
        again = serialize_executable.deserialize_and_load(*serialize_executable.serialize(compiled))
        np.testing.assert_array_equal(again(x), compiled(x))

    def test_unknown_options_are_refused(self):
        with self.assertRaisesRegex(Exception, "No such compile option"):
            jax.jit(lambda a: a + 2, compiler_options={"ullage_memory": "1"})(1.0)

    def test_statistics(self):
        before = jax.devices()[0].memory_stats()["bytes_in_use"]
        x = jax.block_until_ready(jnp.zeros((1000, 1000)))
        self.assertGreaterEqual(jax.devices()[0].memory_stats()["bytes_in_use"], before + x.nbytes)


class Callbacks(unittest.TestCase):
    def test_values_come_back(self):
        x = np.arange(6, dtype=np.float32)
        f = jax.jit(lambda a: jax.pure_callback(np.sin, jax.ShapeDtypeStruct((6,), np.float32), a) + 1)
        np.testing.assert_allclose(f(x), np.sin(x) + 1, rtol=1e-6)

    def test_ordered_effects_come_in_order(self):
        seen = []
        @jax.jit
        def f(a):
            for i in range(3):
                jax.experimental.io_callback(lambda v, i=i: seen.append((i, float(v))), None, a, ordered=True)
            return a
        f(1.0)
        f(2.0)
        jax.effects_barrier()
        self.assertEqual(seen, [(i, v) for v in (1.0, 2.0) for i in range(3)])

    def test_effects_in_loops(self):
        seen = []
        def body(i, carry):
            jax.debug.callback(lambda v: seen.append(int(v)), i)
            return carry + 1
        jax.block_until_ready(jax.jit(lambda a: jax.lax.fori_loop(0, 4, body, a))(0.0))
        jax.effects_barrier()
        self.assertEqual(sorted(seen), [0, 1, 2, 3])

    def test_a_callback_that_raises(self):
        def bad(_):
            raise ValueError("boom")
        f = jax.jit(lambda a: jax.pure_callback(bad, jax.ShapeDtypeStruct((), np.float32), a))
        with self.assertRaisesRegex(Exception, "boom"):
            jax.block_until_ready(f(1.0))
        self.assertEqual(float(jax.jit(lambda a: a * 2)(1.0)), 2.0)


    def test_callbacks_of_every_kind_that_raise(self):
        def bad(*_):
            raise ValueError("boom")
        shape = jax.ShapeDtypeStruct((), np.float32)
        def ordered(a):
            jax.experimental.io_callback(bad, None, a, ordered=True)
            return a
        def printed(a):
            jax.debug.callback(bad, a)
            return a
        def in_a_loop(a):
            return jax.lax.fori_loop(0, 3, lambda i, c: c + jax.pure_callback(bad, shape, c), a)
        def in_a_branch(a):
            return jax.lax.cond(a > 0, lambda b: jax.pure_callback(bad, shape, b), lambda b: b, a)
        for f in (ordered, printed, in_a_loop, in_a_branch):
            with self.subTest(f.__name__), self.assertRaisesRegex(Exception, "boom"):
                jax.block_until_ready(jax.jit(f)(1.0))
                jax.effects_barrier()
            self.assertEqual(float(jax.jit(lambda a: a * 2)(1.0)), 2.0)

    def test_a_callback_with_the_wrong_shape(self):
        f = jax.jit(lambda a: jax.pure_callback(lambda v: np.zeros(3, np.float32), jax.ShapeDtypeStruct((), np.float32), a))
        with self.assertRaisesRegex(Exception, "Incorrect output shape"):
            jax.block_until_ready(f(1.0))


def resident_bytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))


class Robustness(unittest.TestCase):
    def test_many_programs_leave_nothing(self):
        count = int(os.environ.get("ULLAGE_MANY_PROGRAMS", "200"))
        x = jnp.ones((64, 64))
        warm = None
        for i in range(count):
            f = jax.jit(lambda a, k=float(i): jnp.sum(jnp.sin(a @ a) * k))
            f(x)
            if i % 50 == 49:
                del f
                jax.clear_caches()
                gc.collect()
                if i == 99:
                    warm = resident_bytes()
        self.assertLess(resident_bytes() - warm, 24 << 20)

    def test_many_threads(self):
        f = jax.jit(lambda a, n: jnp.sum(jnp.tanh(a @ a)) + n)
        x = np.random.default_rng(3).normal(size=(128, 128)).astype(np.float32)
        want = float(f(x, 0.0))
        wrong = []
        def work(n):
            g = jax.jit(lambda a: f(a, float(n)) + n)
            for _ in range(20):
                if abs(float(g(x)) - want - 2 * n) > 1e-2:
                    wrong.append(n)
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def run_python(self, text, interrupt_after=None):
        process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(text)], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, env=dict(os.environ, PYTHONUNBUFFERED="1"))
        output = ""
        if interrupt_after:
            while interrupt_after not in output:
                line = process.stdout.readline()
                if not line:
                    break
                output += line
            threading.Event().wait(0.5)
            process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=100)
        return process.returncode, output + rest

    def test_exit_with_live_arrays(self):
        code, output = self.run_python("""
            import jax, jax.numpy as jnp, numpy as np
            kept = [jnp.ones((256, 256)) for _ in range(4)]
            view = np.asarray(kept[0])
            f = jax.jit(lambda a: a + 1)
            kept.append(f(kept[0]))
            print("fine")
        """)
        self.assertEqual((code, "fine" in output), (0, True), output)

    def test_control_c_ends_a_long_run(self):
        code, output = self.run_python("""
            import jax, jax.numpy as jnp
            f = jax.jit(lambda a: jax.lax.while_loop(lambda c: c[0] < 1e12, lambda c: (c[0] + 1.0, jnp.sin(c[1])), (a, a)))
            g = f.lower(0.0).compile()
            print("started")
            try:
                jax.block_until_ready(g(0.0))
            except BaseException as stopped:
                print("stopped:", type(stopped).__name__)
        """, interrupt_after="started")
        self.assertRegex(output, r"stopped: (KeyboardInterrupt|JaxRuntimeError)")


if __name__ == "__main__":
    unittest.main()
