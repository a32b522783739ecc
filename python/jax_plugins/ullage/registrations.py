"""What a platform that is neither cpu, gpu nor tpu must tell JAX about itself. JAX has no public interface for most of it, so
each item is guarded: where a private name has moved, JAX works without that item and the log says which."""
import logging
import types

from . import callbacks, native

_log = logging.getLogger(__name__)
_PLATFORM = "ullage"

# Primitives without a rule for platforms in general whose rules for cpu emit calls that Ullage has.
_LINALG = ("eigh", "eig", "schur", "hessenberg", "tridiagonal", "geqp3", "svd", "cholesky", "lu", "geqrf", "householder_product",
           "ormqr", "triangular_solve", "tridiagonal_solve")


def register(library):
    plugin = native.load(library)
    items = (
        ("donation", _donation),
        ("linear algebra", _linear_algebra),
        ("scatters", _scatters),
        ("debugging", _debugging),
        ("callbacks", lambda: callbacks.register(plugin)),
        ("compilation cache", _compilation_cache),
        ("custom call targets", lambda: _custom_calls(plugin)),
        ("interrupts", lambda: callbacks.register_interrupts(plugin)),
    )
    for name, item in items:
        try:
            item()
        except Exception:  # a private name of JAX that has moved
            _log.warning("Ullage: %s not registered with this version of JAX", name, exc_info=True)


def _donation():
    from jax._src.interpreters import mlir
    if _PLATFORM not in mlir._platforms_with_donation:
        mlir._platforms_with_donation.append(_PLATFORM)


def _copy_cpu_rule(primitive):
    from jax._src.interpreters import mlir
    rules = mlir._platform_specific_lowerings
    if primitive in rules["cpu"]:
        rules[_PLATFORM].setdefault(primitive, rules["cpu"][primitive])


def _linear_algebra():
    from jax._src.lax import linalg
    for name in _LINALG:
        primitive = getattr(linalg, name + "_p", None)
        if primitive is None:
            _log.info("Ullage: JAX has no primitive %s", name)
        else:
            _copy_cpu_rule(primitive)


def _window_sizes(operand_shape, updates_shape, numbers):
    """Per dimension of the operand, how much of it one update covers."""
    window = iter(numbers.update_window_dims)
    single = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    return [1 if d in single else updates_shape[next(window)] for d in range(len(operand_shape))]


def _scatters():
    """JAX drops an update whole if any of its window lies outside; StableHLO drops only the elements that do. So where a window
    can lie partly outside, its place is first moved all the way out."""
    import numpy as np
    from jax._src import dtypes, lax
    from jax._src.interpreters import mlir
    from jax._src.lax import slicing

    def moved_out(operand, indices, updates, *, numbers):
        sizes = _window_sizes(operand.shape, updates.shape, numbers)
        extents = np.array([operand.shape[d] for d in numbers.scatter_dims_to_operand_dims], np.int64)
        last = extents - np.array([sizes[d] for d in numbers.scatter_dims_to_operand_dims], np.int64)
        info = np.iinfo(indices.dtype)
        # Past the end, or, where the type of the indices does not reach that far, before the beginning.
        outside = np.where(extents <= info.max, extents, info.min).astype(indices.dtype)
        last = np.minimum(last, info.max).astype(indices.dtype)
        along = lambda values: lax.lax.broadcast_in_dim(values, indices.shape, (indices.ndim - 1,))
        fits = lax.lax.le(indices, along(last))
        if info.min < 0:
            fits = lax.lax.bitwise_and(fits, lax.lax.ge(indices, lax.lax.full_like(indices, 0)))
        return lax.lax.select(fits, indices, along(outside))

    def rule_with(original):
        def rule(ctx, operand, indices, updates, *, dimension_numbers, mode, **parameters):
            shapes = [aval.shape for aval in ctx.avals_in]
            sizes = _window_sizes(shapes[0], shapes[2], dimension_numbers)
            scattered = [sizes[d] for d in dimension_numbers.scatter_dims_to_operand_dims]
            if (mode == slicing.GatherScatterMode.FILL_OR_DROP and all(isinstance(n, int) for shape in shapes for n in shape)
                    and any(n > 1 for n in scattered) and not dtypes.issubdtype(ctx.avals_in[0].dtype, dtypes.extended)):
                move = mlir.lower_fun(moved_out, multiple_results=False)
                (indices,) = move(ctx.replace(avals_out=None), operand, indices, updates, numbers=dimension_numbers)
            return original(ctx, operand, indices, updates, dimension_numbers=dimension_numbers, mode=mode, **parameters)
        return rule

    for name in ("scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max"):
        primitive = getattr(slicing, name + "_p", None)
        if primitive in mlir._lowerings:
            mlir.register_lowering(primitive, rule_with(mlir._lowerings[primitive].rule), platform=_PLATFORM)


def _debugging():
    from jax._src import checkify, debugging
    for module, name in ((debugging, "debug_callback_p"), (debugging, "debug_print_p"), (checkify, "check_p")):
        primitive = getattr(module, name, None)
        if primitive is not None:
            _copy_cpu_rule(primitive)


def _compilation_cache():
    from jax._src import compilation_cache
    original = compilation_cache.is_cache_used

    def is_cache_used(backend):
        # Its list of platforms cannot be added to. It looks at the platform only.
        return original(types.SimpleNamespace(platform="cpu") if backend.platform == _PLATFORM else backend)

    compilation_cache.is_cache_used = is_cache_used


def _custom_calls(plugin):
    """Targets that users register with jax.ffi for this platform, now or earlier, and those of jaxlib's own handlers for CPUs
    that are not LAPACK's, which Ullage calls itself."""
    from jaxlib import lapack, xla_client

    def add(name, capsule, platform, api_version=1, traits=0):
        plugin.register_target(name, capsule, api_version)

    xla_client.register_custom_call_handler(_PLATFORM, add)
    for name, capsule, api_version in lapack.registrations()["cpu"]:
        if api_version == 1 and not name.startswith("lapack_"):
            add(name, capsule, _PLATFORM, api_version)
