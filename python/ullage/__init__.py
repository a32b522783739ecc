"""What Ullage plans for a JAX function, for people in a notebook.

    import jax, ullage
    print(ullage.plan(step, params, batch, memory_budget="2GiB"))
    report = ullage.memory_report(jax.jit(step).lower(params, batch).compile())
    report.text, report.html, report.dict

The names of the package's parts are those of the `ullage` command: budgets are sizes such as "4GiB" or numbers of bytes.
"""
import json

_MAGIC = b"ullage-executable "
_STABLEHLO = "1.13.0"  # the version that the plugin advertises

__all__ = ["MemoryReport", "cmake_dir", "memory_report", "plan"]


class MemoryReport:
    """What is live at the peak of a program, and why: `text`, `html`, and `dict`, plain numbers and strings."""

    def __init__(self, program, options):
        self._program, self._options = program, options
        self.dict = json.loads(self._describe("json"))

    def _describe(self, what):
        from jax_plugins.ullage import native
        return native.load().describe(self._program, self._options, what)

    @property
    def text(self):
        return self._describe("text")

    @property
    def html(self):
        return self._describe("html")

    @property
    def planned_peak_bytes(self):
        return self.dict["planned_peak_bytes"]

    def __str__(self):
        return self.text

    def _repr_html_(self):
        import html
        return f'<iframe srcdoc="{html.escape(self.html)}" width="100%" height="700" style="border:0"></iframe>'


def _varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number, content):
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _options(memory_budget):
    """The compile options message with one option in it."""
    if memory_budget is None:
        return b""
    value = _field(1, str(memory_budget).encode())
    return _field(7, _field(1, b"ullage_memory_budget") + _field(2, value))


def _artifact(lowered):
    """The program as the plugin receives it."""
    from jaxlib import _jax
    module = lowered.compiler_ir("stablehlo")
    text = module.operation.get_asm(enable_debug_info=True, large_elements_limit=None)
    return _jax.mlir.serialize_portable_artifact(text, _STABLEHLO)


def _read_varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value, at
        shift += 7


def _serialized(executable):
    """Program and options of a compiled executable, from its serialised form."""
    data = executable.serialize()
    at = data.find(_MAGIC)
    if at < 0:
        raise ValueError("this was not compiled by Ullage")
    at -= 2  # the field's number and length
    fields = {}
    while len(fields) < 3:
        tag, at = _read_varint(data, at)
        size, at = _read_varint(data, at)
        fields[tag >> 3] = data[at:at + size]
        at += size
    return fields[2], fields[3]


def memory_report(compiled, memory_budget=None):
    """The report of what JAX has compiled or lowered: `jax.jit(f).lower(...)`, with or without `.compile()`. The plan is made
    again, with the options that it was compiled with and, if given, another budget."""
    if hasattr(compiled, "runtime_executable"):
        program, options = _serialized(compiled.runtime_executable())
        return MemoryReport(program, options + _options(memory_budget))
    return MemoryReport(_artifact(compiled), _options(memory_budget))


def plan(function, *args, memory_budget=None, donate_argnums=(), static_argnums=(), **kwargs):
    """Plans `function` for these arguments, which may be shapes (jax.ShapeDtypeStruct): nothing is allocated or run. Raises
    ValueError with the smallest budget that works if `memory_budget` cannot be met."""
    import jax
    if not hasattr(function, "lower"):
        function = jax.jit(function, donate_argnums=donate_argnums, static_argnums=static_argnums)
    return memory_report(function.lower(*args, **kwargs), memory_budget)


def cmake_dir():
    """The folder of the CMake package for C++ programs, where this package was installed from a wheel."""
    import pathlib
    return str(pathlib.Path(__file__).resolve().parent / "cmake")
