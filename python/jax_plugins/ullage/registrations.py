"""What a platform that is neither cpu, gpu nor tpu must tell JAX about itself. JAX has no public interface for most of it, so
each item is guarded: where a private name has moved, JAX works without that item and the log says which."""
import logging

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
        if backend.platform == _PLATFORM:
            return compilation_cache._is_cache_enabled()
        return original(backend)

    compilation_cache.is_cache_used = is_cache_used


def _custom_calls(plugin):
    """Targets that users register with jax.ffi for this platform, now or earlier."""
    from jaxlib import xla_client

    def add(name, capsule, platform, api_version=1, traits=0):
        plugin.register_target(name, capsule, api_version)

    xla_client.register_custom_call_handler(_PLATFORM, add)
