"""Reads the pickles inside PyTorch weight files without running anything that they name.

Python's own unpickler imports and calls what a file tells it to. Here the opcodes (parsed by the
standard library's `pickletools`) build plain dicts, lists, numbers and tensor descriptions; a
global is only ever a name, and a name that weight files do not need is refused.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kerasbert.checkpoints.errors import CheckpointError

# Names of the storage classes in `torch` and the numpy dtypes of their elements. numpy has no
# bfloat16: its bit patterns are read as uint16 and widened later.
STORAGE_DTYPES = {
    "DoubleStorage": "f8",
    "FloatStorage": "f4",
    "HalfStorage": "f2",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "i8",
    "IntStorage": "i4",
    "ShortStorage": "i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "UntypedStorage": "u1",
    "BoolStorage": "?",
}
_STORAGE_MODULES = ("torch", "torch.cuda", "torch.storage")
_FUNCTIONS = (
    "collections OrderedDict",
    "torch._utils _rebuild_parameter",
    "torch._utils _rebuild_tensor",
    "torch._utils _rebuild_tensor_v2",
)

_LIMIT = 2**63  # sizes and offsets are signed 64-bit numbers


@dataclass(frozen=True)
class Storage:
    """A flat run of `size` elements somewhere in the file."""

    key: str
    dtype: str
    size: int


@dataclass(frozen=True)
class TensorRecord:
    """A view of a storage: where it starts, its shape and its strides, all in elements."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class _Global:
    name: str


class _Mark:
    pass


_MARK = _Mark()


def read_pickle(stream: io.BytesIO) -> tuple[Any, dict[str, Storage]]:
    """Builds the next pickled object of `stream`, which is left at the end of that pickle.

    Args:
        stream: Bytes in memory: a length that lies cannot ask for more than they hold.

    Returns:
        The object, made of dicts with string keys, lists, tuples, strings, numbers, booleans,
        `None`, `Storage` and `TensorRecord`; and every storage that it refers to, by key.

    Raises:
        CheckpointError: The pickle is damaged, or names a global or an operation that weight files
            do not need. The message does not know the file: the caller adds it.
    """
    machine = _Machine()
    try:
        for opcode, argument, _ in pickletools.genops(stream):
            operation = _OPERATIONS.get(opcode.name)
            if operation is None:
                raise CheckpointError(f"it uses the pickle operation {opcode.name}")
            operation(machine, argument)
        return machine.stack.pop(), machine.storages
    except CheckpointError:
        raise
    # What damaged bytes raise depends on where they are damaged.
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
        raise CheckpointError("its pickle is cut short or damaged") from error


class _Machine:
    """The stack and the memo of one pickle."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.storages: dict[str, Storage] = {}

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop_to_mark(self) -> list[Any]:
        position = len(self.stack) - 1
        while self.stack[position] is not _MARK:
            position -= 1
            if position < 0:
                raise LookupError("no mark on the stack")
        items = self.stack[position + 1 :]
        del self.stack[position:]
        return items

    def push_tuple(self, length: int) -> None:
        if length > len(self.stack):
            raise LookupError("not enough items on the stack")
        items = tuple(self.stack[len(self.stack) - length :])
        del self.stack[len(self.stack) - length :]
        self.push(items)

    def push_global(self, name: str) -> None:
        module, _, attribute = name.partition(" ")
        is_storage = module in _STORAGE_MODULES and attribute in STORAGE_DTYPES
        if name not in _FUNCTIONS and not is_storage:
            raise CheckpointError(f"it asks to import {'.'.join(name.split())}")
        self.push(_Global(name))

    def push_stack_global(self) -> None:
        attribute, module = self.stack.pop(), self.stack.pop()
        self.push_global(f"{_checked(module, str)} {_checked(attribute, str)}")

    def push_storage(self) -> None:
        reference = _checked(self.stack.pop(), tuple)
        # The sixth part, in the old format only, would be a view of a storage. PyTorch's writer
        # keeps the place for old readers and always puts None there.
        is_view = len(reference) == 6 and reference[5] is not None
        if len(reference) not in (5, 6) or reference[0] != "storage" or is_view:
            raise CheckpointError("it refers to something that is not a plain storage")
        storage_class, key, _, size = reference[1:5]
        dtype = STORAGE_DTYPES[_checked(storage_class, _Global).name.split()[-1]]
        self.storages[_checked(key, str)] = storage = Storage(key, dtype, _checked_size(size))
        self.push(storage)

    def call(self) -> None:
        """REDUCE: the only four functions, each by what it means here."""
        arguments, function = _checked(self.stack.pop(), tuple), self.stack.pop()
        name = _checked(function, _Global).name
        if name == "collections OrderedDict" and not arguments:
            self.push({})
        elif name == "torch._utils _rebuild_parameter":
            self.push(_checked(arguments[0], TensorRecord))
        elif name.startswith("torch._utils _rebuild_tensor"):
            self.push(_tensor_record(*arguments[:4]))
        else:
            raise CheckpointError(f"it asks to call {name.replace(' ', '.')}")

    def set_items(self, items: list[Any]) -> None:
        target = _checked(self.stack[-1], dict)
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[_checked(key, str)] = value

    def append_items(self, items: list[Any]) -> None:
        _checked(self.stack[-1], list).extend(items)

    def set_item(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.set_items([key, value])


def _tensor_record(storage: Any, offset: Any, shape: Any, strides: Any) -> TensorRecord:
    if len(_checked(shape, tuple)) != len(_checked(strides, tuple)) or len(shape) > 32:
        raise CheckpointError("it holds a tensor whose shape and strides do not fit together")
    for size in (offset, *shape, *strides):
        _checked_size(size)
    record = TensorRecord(_checked(storage, Storage), offset, shape, strides)
    last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    if 0 not in shape and last >= storage.size:
        raise CheckpointError("it holds a tensor that reaches beyond the end of its storage")
    return record


def _checked(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise TypeError(f"expected {kind.__name__}")
    return value


def _checked_size(value: Any) -> int:
    if not 0 <= _checked(value, int) < _LIMIT:
        raise ValueError("a size that no file can have")
    return value


def _ignore(machine: _Machine, argument: Any) -> None:
    pass


def _push_argument(machine: _Machine, argument: Any) -> None:
    machine.push(argument)


def _remember(machine: _Machine, index: int) -> None:
    machine.memo[index] = machine.stack[-1]


def _recall(machine: _Machine, index: int) -> None:
    machine.push(machine.memo[index])


# BUILD would set attributes; PyTorch attaches only `_metadata`, which nobody needs, that way.
_OPERATIONS: dict[str, Callable[[_Machine, Any], Any]] = {
    "PROTO": _ignore,
    "FRAME": _ignore,
    "STOP": _ignore,
    "MARK": lambda machine, _: machine.push(_MARK),
    "NONE": lambda machine, _: machine.push(None),
    "NEWTRUE": lambda machine, _: machine.push(True),
    "NEWFALSE": lambda machine, _: machine.push(False),
    "EMPTY_DICT": lambda machine, _: machine.push({}),
    "EMPTY_LIST": lambda machine, _: machine.push([]),
    "EMPTY_TUPLE": lambda machine, _: machine.push(()),
    "TUPLE": lambda machine, _: machine.push(tuple(machine.pop_to_mark())),
    "TUPLE1": lambda machine, _: machine.push_tuple(1),
    "TUPLE2": lambda machine, _: machine.push_tuple(2),
    "TUPLE3": lambda machine, _: machine.push_tuple(3),
    "APPEND": lambda machine, _: machine.append_items([machine.stack.pop()]),
    "APPENDS": lambda machine, _: machine.append_items(machine.pop_to_mark()),
    "SETITEM": lambda machine, _: machine.set_item(),
    "SETITEMS": lambda machine, _: machine.set_items(machine.pop_to_mark()),
    "BUILD": lambda machine, _: machine.stack.pop(),
    "REDUCE": lambda machine, _: machine.call(),
    "BINPERSID": lambda machine, _: machine.push_storage(),
    "GLOBAL": lambda machine, name: machine.push_global(name),
    "STACK_GLOBAL": lambda machine, _: machine.push_stack_global(),
    "MEMOIZE": lambda machine, _: _remember(machine, len(machine.memo)),
    **dict.fromkeys(("BINPUT", "LONG_BINPUT"), _remember),
    **dict.fromkeys(("BINGET", "LONG_BINGET"), _recall),
    **dict.fromkeys(
        ("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE"),
        _push_argument,
    ),
}
