"""Arrays as lists, for programs that do not accept arrays."""

from __future__ import annotations

import gc
from _thread import allocate_lock  # the lock of `threading`, whose import takes longer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from numpy.typing import NDArray

_lock = allocate_lock()
_calls = 0
_was_enabled = False


def to_lists(arrays: Iterable[NDArray[Any]]) -> list[list[Any]]:
    """Returns each array as nested lists of numbers, equal to the result of its `tolist`, in a fraction of the time.

    Python's garbage collector looks at all lists again and again while they become more. It waits until these are made:
    they hold only numbers, so there is nothing to be found among them.

    Args:
        arrays: Arrays of any shape.

    Returns:
        A list for each array: of `[[x, y, z], ..]` for one of the shape `[vertices, 3]`.
    """
    global _calls, _was_enabled
    with _lock:
        if _calls == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _calls += 1
    try:
        return [array.tolist() for array in arrays]
    finally:
        with _lock:
            _calls -= 1
            if _calls == 0 and _was_enabled:
                gc.enable()
