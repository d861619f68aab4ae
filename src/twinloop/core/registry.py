"""The plug-in registry: one per kind of plug-in, filled from entry points, loaded when first used.

Built-ins take the same road as third parties: an entry point in the group (`twinloop.formats`,
`twinloop.rules`, ...) whose value is a lazy dotted path `module:object`.
"""

from __future__ import annotations

from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from twinloop.core.errors import TwinloopError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")


class Registry(Generic[T]):
    """Named plug-ins of one kind.

    Args:
        group: entry-point group, e.g. ``twinloop.formats``.
        kind: what one plug-in is called in messages, e.g. ``format``.
    """

    def __init__(self, group: str, kind: str) -> None:
        self.group = group
        self.kind = kind
        self._registered: dict[str, T] = {}

    @cached_property
    def _entry_points(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=self.group)}

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator that adds an object under `name` for this process (tests, notebooks)."""

        def add(plugin: T) -> T:
            self._registered[name] = plugin
            return plugin

        return add

    def unregister(self, name: str) -> None:
        """Take out what :meth:`register` put in."""
        self._registered.pop(name, None)

    def names(self) -> list[str]:
        """All names, sorted; loads nothing."""
        return sorted({*self._entry_points, *self._registered})

    def get(self, name: str) -> T:
        """The plug-in `name`, loaded on first use.

        Raises:
            UnknownNameError: no such name; near matches and all names are in the message.
            TwinloopError: the plug-in's module does not import.
        """
        if name in self._registered:
            return self._registered[name]
        if name not in self._entry_points:
            raise UnknownNameError(self.kind, name, self.names())
        point = self._entry_points[name]
        try:
            plugin = cast("T", point.load())
        except (ImportError, AttributeError) as error:
            raise TwinloopError(
                f"the {self.kind} {name!r} does not load: {error}",
                where=f"entry point {point.value} of {point.dist.name if point.dist else 'an unknown package'}",
                fix="reinstall the package that provides it",
            ) from error
        self._registered[name] = plugin
        return plugin

    def __iter__(self) -> Iterator[tuple[str, T]]:
        for name in self.names():
            yield name, self.get(name)
