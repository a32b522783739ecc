"""Makes unmodified JAX run on Ullage. JAX finds this module by itself and calls `initialize()`.

    JAX_PLATFORMS=ullage ULLAGE_FLAGS=--memory-budget=2GiB python train.py

Options of the client come from the environment: ULLAGE_NUM_DEVICES (virtual devices in this process), ULLAGE_FLAGS (the
options of the `ullage` command), and JAX_PJRT_CLIENT_CREATE_OPTIONS ("key:value;key:value"). Options of one compilation
are given with `jax.jit(f, compiler_options={"ullage_memory_budget": "4GiB"})`.
"""
import logging
import os
import pathlib

_TESTED_JAXLIB = ("0.10.",)
_log = logging.getLogger(__name__)


def library_path():
    """The plugin's shared library: beside this file when installed, else in the build folder of the sources."""
    given = os.environ.get("ULLAGE_PJRT_LIBRARY")
    if given:
        return pathlib.Path(given)
    here = pathlib.Path(__file__).resolve().parent
    candidates = [here / "libullage_pjrt.so"]
    candidates += [here.parents[2] / "build" / preset / "lib" / "libullage_pjrt.so" for preset in ("release", "dev")]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(f"the Ullage plugin is in none of {', '.join(map(str, candidates))}; build it, or name it in "
                            "ULLAGE_PJRT_LIBRARY")


def client_options():
    """What the client is created with; evaluated when JAX creates it."""
    options = {}
    devices = os.environ.get("ULLAGE_NUM_DEVICES")
    if devices:
        options["num_devices"] = int(devices)
    return options


def _warn_if_untested():
    import jaxlib
    version = getattr(jaxlib, "__version__", "unknown")
    if not version.startswith(_TESTED_JAXLIB):
        import warnings
        warnings.warn(f"Ullage was tested with jaxlib {_TESTED_JAXLIB[0]}*, found {version}", stacklevel=3)


def initialize():
    """Called by JAX while it looks for plugins. Creates no client."""
    from jax._src import xla_bridge

    _warn_if_untested()
    path = library_path()
    xla_bridge.register_plugin("ullage", priority=500, library_path=str(path), options=client_options)
    # Lowering rules may be registered for platforms that JAX knows, so this comes after the plugin.
    from . import registrations
    registrations.register(path)
