"""The plugin's own functions beside the PJRT interface, reached through an extension record in its function table."""
import ctypes

_EXTENSION_TYPE = 0x554C4C41  # "ULLA"
_TABLE_EXTENSIONS = 8  # offset of the chain in the function table

# key, number of arguments, their addresses, number of results, their addresses, text of a failure, its capacity
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_uint64, ctypes.c_int64, ctypes.POINTER(ctypes.c_void_p),
                            ctypes.c_int64, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_char),
                            ctypes.c_int64)
INTERRUPTED = ctypes.CFUNCTYPE(ctypes.c_int32)


class _Head(ctypes.Structure):
    pass


_Head._fields_ = [("struct_size", ctypes.c_size_t), ("type", ctypes.c_int32), ("next", ctypes.POINTER(_Head))]


class _Extension(ctypes.Structure):
    _fields_ = [
        ("head", _Head),
        ("set_callback", ctypes.CFUNCTYPE(None, CALLBACK)),
        ("set_interrupted", ctypes.CFUNCTYPE(None, INTERRUPTED)),
        ("register_target", ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p)),
        # program, its size, options, their size, what ("text", "html", "json"), receiver of the answer
        ("describe", ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t,
                                      ctypes.c_char_p, ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_char),
                                                                        ctypes.c_size_t))),
    ]


_ANSWER = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t)
_plugin = None


class Plugin:
    def __init__(self, path):
        self._library = ctypes.CDLL(str(path))
        self._library.GetPjrtApi.restype = ctypes.c_void_p
        table = self._library.GetPjrtApi()
        at = ctypes.c_void_p.from_address(table + _TABLE_EXTENSIONS).value
        while at and _Head.from_address(at).type != _EXTENSION_TYPE:
            at = ctypes.cast(_Head.from_address(at).next, ctypes.c_void_p).value
        if not at:
            raise RuntimeError(f"{path} is another version of the plugin")
        self._extension = _Extension.from_address(at)
        self._kept = []  # function objects that the plugin calls

    def set_callback(self, function):
        pointer = CALLBACK(function)
        self._kept.append(pointer)
        self._extension.set_callback(pointer)

    def set_interrupted(self, function):
        pointer = INTERRUPTED(function)
        self._kept.append(pointer)
        self._extension.set_interrupted(pointer)

    def register_target(self, name, capsule, api_version):
        """A handler of the typed interface; a capsule, or a dictionary of capsules by stage."""
        if api_version != 1:
            raise ValueError(f"custom call target {name}: only the typed interface (api_version 1) is supported")
        if isinstance(capsule, dict):
            self._kept.append(capsule)
            capsule = capsule["execute"]
        self._kept.append(capsule)
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        get_name = ctypes.pythonapi.PyCapsule_GetName
        get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
        address = get(capsule, get_name(capsule))
        self._extension.register_target(name.encode() if isinstance(name, str) else name, address)

    def describe(self, program, options, what):
        """The memory report of a program: "text", "html" or "json". Raises ValueError with the plugin's message."""
        answer = []
        receive = _ANSWER(lambda text, size: answer.append(ctypes.string_at(text, size).decode()))
        status = self._extension.describe(program, len(program), options, len(options), what.encode(), receive)
        if status:
            raise ValueError(answer[0] if answer else "no report")
        return answer[0]


def load(path=None):
    """The plugin of this process."""
    global _plugin
    if _plugin is None:
        if path is None:
            from . import library_path
            path = library_path()
        _plugin = Plugin(path)
    return _plugin
