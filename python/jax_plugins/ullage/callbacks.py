"""Python callbacks in compiled programs. The program holds a number for each; the plugin calls one C function with that number
and the addresses of operands and results, and this module finds the Python function behind it."""
import contextlib
import ctypes
import dataclasses
import itertools
import threading
import traceback
import weakref

_TARGET = "ullage_python_callback"
_PLATFORM = "ullage"
_numbers = itertools.count(1)
_contexts_known = False  # whether this version of JAX has the settings of _own_context
_callbacks = weakref.WeakValueDictionary()  # number -> _Callback, alive as long as the program that calls it


class _Callback:
    """A Python function with the types of its operands and results, tokens left out."""

    def __init__(self, function, operand_avals, result_avals):
        self.function = function
        self.operands = [(tuple(a.shape), _stored_dtype(a.dtype)) for a in operand_avals]
        self.results = [(tuple(a.shape), _stored_dtype(a.dtype)) for a in result_avals]

    def __call__(self, *args):
        return self.function(*args)


def _stored_dtype(dtype):
    import numpy as np
    return np.dtype(dtype)


def _array(address, shape, dtype):
    """A copy of the array at an address: the memory is used again once the callback has returned."""
    import numpy as np
    count = int(np.prod(shape, dtype=np.int64))
    if count == 0:
        return np.zeros(shape, dtype)
    raw = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return np.frombuffer(raw, dtype=dtype, count=count).reshape(shape).copy()


def _store(address, value, shape, dtype):
    import numpy as np
    value = np.ascontiguousarray(value, dtype=dtype).reshape(shape)
    if value.nbytes:
        ctypes.memmove(address, value.ctypes.data, value.nbytes)


@contextlib.contextmanager
def _own_context():
    """The mesh of the program that runs, and what is being traced around it, are not the callback's."""
    from jax._src import config, core, mesh
    meshes = ((config.device_context, mesh.empty_concrete_mesh), (config.abstract_mesh_context_manager, mesh.empty_abstract_mesh))
    before = [setting.swap_local(empty) for setting, empty in meshes]
    try:
        with core.eval_context():
            yield
    finally:
        for (setting, _), value in zip(meshes, before):
            setting.set_local(value)


def _call(number, n_operands, operands, n_results, results, message, capacity):
    try:
        callback = _callbacks.get(number)
        if callback is None:
            raise RuntimeError("the Python function of this callback no longer exists")
        tokens = n_operands - len(callback.operands)
        values = [_array(operands[tokens + i], *what) for i, what in enumerate(callback.operands)]
        with _own_context() if _contexts_known else contextlib.nullcontext():
            answers = callback(*values)
        tokens = n_results - len(callback.results)
        for i, what in enumerate(callback.results):
            _store(results[tokens + i], answers[i], *what)
        return 0
    except BaseException:  # whatever it is must not travel through compiled code
        text = ("CpuCallback error calling callback: " + traceback.format_exc()).encode()[:capacity - 1]
        ctypes.memmove(message, text + b"\0", len(text) + 1)
        return 1


def _emit(original):
    import numpy as np
    from jax._src import config, core, dtypes, ffi
    from jax._src.interpreters import mlir

    def emit_python_callback(ctx, callback, token, operands, operand_avals, result_avals, *, has_side_effect,
                             returns_token=True, partitioned=False, sharding=None):
        if tuple(ctx.module_context.platforms) != (_PLATFORM,):
            return original(ctx, callback, token, operands, operand_avals, result_avals, has_side_effect=has_side_effect,
                            returns_token=returns_token, partitioned=partitioned, sharding=sharding)
        if partitioned and result_avals:
            raise ValueError("Partitioned callback not supported with return values.")

        def checked(*args):
            values = callback(*args)
            if len(values) != len(result_avals):
                raise RuntimeError("Mismatched number of outputs from callback. "
                                   f"Expected: {len(result_avals)}, Actual: {len(values)}")
            values = tuple(dtypes.canonicalize_value(np.asarray(v)) for v in values)
            for i, (value, aval) in enumerate(zip(values, result_avals)):
                if value.shape != aval.shape:
                    raise RuntimeError(f"Incorrect output shape for return value #{i}: "
                                       f"Expected: {aval.shape}, Actual: {value.shape}")
                if value.dtype != aval.dtype:
                    raise RuntimeError(f"Incorrect output dtype for return value #{i}: "
                                       f"Expected: {aval.dtype}, Actual: {value.dtype}")
            return values

        kept = _Callback(checked, operand_avals, result_avals)
        number = next(_numbers)
        _callbacks[number] = kept
        if token:
            operands = [token, *operands]
            if (config.use_shardy_partitioner.value and sharding is not None and len(ctx.avals_out) > 0
                    and hasattr(sharding, "shardings")):
                first = sharding.shardings[0]
                sharding = type(sharding)((type(first)(mesh_shape=(), dim_shardings=(),
                                                       logical_device_ids=first.logical_device_ids),
                                           *sharding.shardings))
            ctx = dataclasses.replace(ctx, avals_in=[core.abstract_token, *ctx.avals_in],
                                      avals_out=[core.abstract_token, *ctx.avals_out])
        # Keeps the function alive with the program, and the program out of the persistent cache.
        ctx.module_context.add_host_callback(kept)
        op = ffi.build_ffi_lowering_function(_TARGET, has_side_effect=has_side_effect)(
            ctx, *operands, index=np.uint64(number))
        if sharding is not None:
            mlir.set_sharding(ctx.module_context, op, sharding)
        results = op.results
        if token:
            token, *results = results
        return results, token, kept

    return emit_python_callback


def register(plugin):
    global _contexts_known
    from jax._src import callback, config, core, mesh
    _contexts_known = all(hasattr(module, name) for module, name in (
        (config, "device_context"), (config, "abstract_mesh_context_manager"), (core, "eval_context"), (mesh, "empty_concrete_mesh"),
        (mesh, "empty_abstract_mesh")))
    plugin.set_callback(_call)
    callback.emit_python_callback = _emit(callback.emit_python_callback)


def register_interrupts(plugin):
    """Ctrl-C ends a long run: the plugin asks from time to time whether a signal has arrived."""
    check = ctypes.pythonapi.PyErr_CheckSignals
    main = threading.main_thread().ident

    def interrupted():
        if threading.get_ident() != main:
            return 0
        try:
            check()  # runs Python's handlers; raises what they raise
            return 0
        except BaseException:
            # It is raised again in Python once the run has ended.
            ctypes.pythonapi.PyErr_SetInterrupt()
            return 1

    plugin.set_interrupted(interrupted)
