#!/usr/bin/env python3
"""Several virtual devices in one process: sharded jit and shard_map, compared with NumPy."""
import os
import sys
import unittest

os.environ["ULLAGE_NUM_DEVICES"] = "8"
try:
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
except ImportError:
    print("skipped: this Python has no JAX")
    sys.exit(77)


class Sharded(unittest.TestCase):
    def setUp(self):
        self.mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))
        self.a = np.arange(64, dtype=np.float32).reshape(8, 8)

    def put(self, array, *spec):
        return jax.device_put(array, NamedSharding(self.mesh, P(*spec)))

    def shard_map(self, f, in_specs, out_specs, **options):
        return jax.jit(jax.shard_map(f, mesh=self.mesh, in_specs=in_specs, out_specs=out_specs, **options))

    def test_arrays_come_back_whole(self):
        for spec in ((), ("x",), ("x", "y"), (None, "y"), (("x", "y"),), ("y", "x")):
            x = self.put(self.a, *spec)
            np.testing.assert_array_equal(x, self.a)
            np.testing.assert_array_equal(jax.jit(lambda a: a + 1)(x), self.a + 1)

    def test_results_stay_cut(self):
        x = self.put(self.a, "x", "y")
        y = jax.jit(lambda a: jnp.sin(a).T * 2)(x)
        self.assertTrue(y.sharding.is_equivalent_to(NamedSharding(self.mesh, P("y", "x")), 2))
        self.assertEqual(y.addressable_shards[0].data.shape, (4, 2))
        np.testing.assert_allclose(y, np.sin(self.a).T * 2, rtol=1e-6)

    def test_stated_shardings(self):
        x = self.put(self.a, "x", "y")
        y = jax.jit(lambda a: a @ a, out_shardings=NamedSharding(self.mesh, P(None, "x")))(x)
        self.assertEqual(y.addressable_shards[0].data.shape, (8, 2))
        np.testing.assert_allclose(y, self.a @ self.a, rtol=1e-5)
        z = jax.jit(lambda a: a.sum(), out_shardings=NamedSharding(self.mesh, P()))(x)
        self.assertEqual(float(z), self.a.sum())

    def test_dimensions_that_stay_whole_stay_cut(self):
        x = self.put(self.a.reshape(8, 4, 2), "x", None, "y")
        cases = {
            "element": (lambda a: a[:, -1, :], (2, 1)),
            "slice": (lambda a: a[:, 1:3], (2, 2, 1)),
            "reshape": (lambda a: a.reshape(8, 2, 2, 2), (2, 2, 2, 1)),
            "reversed": (lambda a: a[:, ::-1], (2, 4, 1)),
            "sorted": (lambda a: jnp.sort(a, 1), (2, 4, 1)),
            "taken": (lambda a: a[:, jnp.array([3, 0])], (2, 2, 1)),
            "branch": (lambda a: jax.lax.cond(a.sum() > 0, lambda b: b * 2, lambda b: b, a), (2, 4, 1)),
        }
        for name, (f, shard) in cases.items():
            with self.subTest(name):
                got = jax.jit(f)(x)
                self.assertEqual(got.addressable_shards[0].data.shape, shard)
                np.testing.assert_array_equal(got, f(jnp.array(np.asarray(x))))

    def test_sums_over_devices(self):
        mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Explicit,) * 2)
        with jax.set_mesh(mesh):
            for dtype in ("float32", "bfloat16", "int32", "complex64"):
                with self.subTest(dtype):
                    a = jax.device_put(self.a.astype(dtype), P(None, "x"))
                    total = jax.jit(lambda a: jax.lax.reduce_sum(a, [1], out_sharding=P(unreduced={"x"})))(a)
                    self.assertEqual(total.sharding.spec.unreduced, {"x"})
                    parts = [np.asarray(shard.data).astype("complex64") for shard in total.addressable_shards]
                    np.testing.assert_allclose(sum(parts) / 2, self.a.sum(1))  # every part is on two devices
                    twice = jax.jit(lambda t: jax.reshard(t, P()) * 2)(total)
                    np.testing.assert_allclose(np.asarray(twice).astype("complex64"), 2 * self.a.sum(1))
            # Every device's part counts, whatever it is.
            some = jax.shard_map(lambda a: a[0], in_specs=P("x", None), out_specs=P(unreduced={"x"}), check_vma=False)
            got = jax.jit(lambda a: jax.reshard(some(a), P()))(jax.device_put(self.a[:4], P("x", None)))
            np.testing.assert_allclose(got, self.a[:4].sum(0))

    def test_the_optimised_program_can_be_read(self):
        mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Explicit,) * 2)
        with jax.set_mesh(mesh):
            a = jax.device_put(self.a, P("x", "y"))
            text = jax.jit(lambda a: jnp.sum(jnp.sin(a) + a * 0, 0)).lower(a).compile().as_text()
        self.assertIn("sine(", text)
        self.assertIn("devices_test.py", text)  # where it comes from
        ring = self.shard_map(lambda a: jax.lax.psum(a, "x"), P("x"), P())
        self.assertIn("add(", ring.lower(self.a).compile().as_text())

    def test_callbacks_do_not_see_the_mesh(self):
        def host(a):
            return jnp.sin(a) * 2  # an array of one device
        with jax.set_mesh(self.mesh):
            f = jax.shard_map(lambda b: jax.pure_callback(host, jax.ShapeDtypeStruct(b.shape, b.dtype), b), mesh=self.mesh,
                              in_specs=P("x"), out_specs=P("x"), check_vma=False)
            for call in (f, jax.jit(f)):
                np.testing.assert_allclose(call(self.a), np.sin(self.a) * 2, rtol=1e-6)
            self.assertEqual(jax.sharding.get_mesh(), self.mesh)

    def test_loops_stay_cut(self):
        sharding = NamedSharding(self.mesh, P("x", "y"))
        body = lambda c, _: (jax.lax.with_sharding_constraint(c + 1, sharding), None)
        got = jax.jit(lambda a: jax.lax.scan(body, a, None, length=2)[0])(self.a)
        self.assertEqual(got.addressable_shards[0].data.shape, (2, 4))
        np.testing.assert_array_equal(got, self.a + 2)

    def test_layouts(self):
        from jax.experimental.layout import Format, Layout
        a = np.arange(48, dtype=np.float32).reshape(2, 4, 6)
        for spec in ((), ("y", "x"), (None, None, "y")):
            for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)):
                with self.subTest(spec=spec, order=order):
                    form = Format(Layout(order), NamedSharding(self.mesh, P(*spec)))
                    x = jax.device_put(a, form)
                    self.assertEqual(x.format.layout.major_to_minor, order)
                    np.testing.assert_array_equal(x, a)
                    f = jax.jit(lambda b: jnp.sin(b) + 1, in_shardings=form, out_shardings=form, donate_argnums=0)
                    y = f(x)
                    self.assertEqual(y.format.layout.major_to_minor, order)
                    self.assertTrue(x.is_deleted())
                    np.testing.assert_allclose(y, np.sin(a) + 1, rtol=1e-6)
                    np.testing.assert_allclose(jax.jit(lambda b: b.T)(y), np.sin(a).T + 1, rtol=1e-6)

    def test_donation(self):
        x = self.put(self.a, "x", "y")
        y = jax.jit(lambda a: a + 1, donate_argnums=0)(x)
        self.assertTrue(x.is_deleted())
        np.testing.assert_array_equal(y, self.a + 1)

    def test_collectives(self):
        x = self.put(self.a, "x", "y")
        cases = {
            "psum": (lambda a: jax.lax.psum(a, "x"), P("x", "y"), P(None, "y"), self.a.reshape(4, 2, 8).sum(0)),
            "pmax": (lambda a: jax.lax.pmax(a, ("x", "y")), P("x", "y"), P(),
                     self.a.reshape(4, 2, 2, 4).transpose(0, 2, 1, 3).reshape(8, 2, 4).max(0)),
            "all_gather": (lambda a: jax.lax.all_gather(a, "x", tiled=True), P("x", "y"), P(None, "y"), self.a),
            "ppermute": (lambda a: jax.lax.ppermute(a, "x", [(i, (i + 1) % 4) for i in range(4)]), P("x"), P("x"),
                         np.roll(self.a, 2, 0)),
            "reduce_scatter": (lambda a: jax.lax.psum_scatter(a, "x", tiled=True), P(None, "y"), P("x", "y"), 4 * self.a),
            "all_to_all": (lambda a: jax.lax.all_to_all(a, "x", 1, 0, tiled=True), P("x", None), P(None, "x"), self.a),
            "axis_index": (lambda a: a * 0 + jax.lax.axis_index("x") * 2 + jax.lax.axis_index("y"), P("x", "y"), P("x", "y"),
                           np.repeat(np.repeat(np.arange(8.0).reshape(4, 2), 2, 0), 4, 1)),
        }
        for name, (f, in_spec, out_spec, want) in cases.items():
            with self.subTest(name):
                got = self.shard_map(f, in_spec, out_spec, check_vma=False)(x)
                np.testing.assert_allclose(got, want, rtol=1e-6)

    def test_nested(self):
        def loop(b):
            return jax.lax.fori_loop(0, 2, lambda i, c: c + jax.lax.psum(c, "y") + jax.lax.axis_index("y"), b)
        number = lambda b: b * 0 + jax.lax.axis_index("x") * 10 + jax.lax.axis_index("y")
        columns = self.a.reshape(8, 2, 4)
        looped = columns
        for _ in range(2):
            looped = looped + looped.sum(1, keepdims=True) + np.arange(2)[:, None]
        cases = {
            "numbers": (number, P(None, "y"), np.repeat(np.repeat(np.arange(4) * 10, 2)[:, None] + [0, 1], 4, 1)),
            "inner sum": (lambda b: jax.lax.psum(b, "y"), P(), columns.sum(1)),
            "outer sum": (lambda b: jax.lax.psum(b, "x"), P(None, "y"), np.tile(self.a.reshape(4, 2, 8).sum(0), (4, 1))),
            "both": (lambda b: jax.lax.psum(b, ("x", "y")), P(), np.tile(self.a.reshape(4, 2, 2, 4).sum((0, 2)), (4, 1))),
            "loop": (loop, P(None, "y"), looped.reshape(8, 8)),
        }
        for name, (f, out, want) in cases.items():
            with self.subTest(name), jax.set_mesh(self.mesh):
                inner = lambda b: jax.shard_map(f, in_specs=P(None, "y"), out_specs=out, axis_names={"y"}, check_vma=False)(b)
                outer = jax.shard_map(inner, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}, check_vma=False)
                np.testing.assert_allclose(jax.jit(outer)(self.a), want, rtol=1e-6)

    def test_collectives_in_a_loop(self):
        def ring(a):
            def body(_, carry):
                block, total = carry
                block = jax.lax.ppermute(block, "x", [(i, (i + 1) % 4) for i in range(4)])
                return block, total + block
            return jax.lax.fori_loop(0, 3, body, (a, a))[1]
        got = self.shard_map(ring, P("x"), P("x"), check_vma=False)(self.put(self.a, "x"))
        np.testing.assert_allclose(got, np.tile(self.a.reshape(4, 2, 8).sum(0), (4, 1)), rtol=1e-6)

    def test_gradients_over_devices(self):
        w = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
        loss = lambda w, a: jnp.mean(jnp.tanh(a @ w) ** 2)
        got = jax.jit(jax.grad(loss))(self.put(w), self.put(self.a, "x"))
        one = jax.device_put((w, self.a), jax.devices()[0])
        np.testing.assert_allclose(got, jax.jit(jax.grad(loss))(*one), rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    unittest.main()
