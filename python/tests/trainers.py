"""Trainers without their large dependencies: their interfaces to environments do not need torch, which is about 3 GB. A
name that they import from such a package is a stand-in, which does nothing."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest


class StandIn:
    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self.__dict__[name] = one = StandIn(name)
        return one

    def __call__(self, *given: Any, **named: Any) -> Any:
        # As a decorator it returns what it decorates.
        is_decorated = len(given) == 1 and isinstance(given[0], (type, types.FunctionType))
        return given[0] if is_decorated and not named else self

    def __mro_entries__(self, bases: Any) -> Any:
        return (type(self.__name__, (), {}),)

    def __or__(self, other: Any) -> Any:
        return self

    __ror__ = __getitem__ = __or__

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __bool__(self) -> bool:
        return False

    def __instancecheck__(self, one: Any) -> bool:
        return False

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: Any) -> Any:
        return importlib.import_module("pydantic_core.core_schema").any_schema()


class StandInModule(types.ModuleType):
    __path__: list[str] = []  # noqa: RUF012
    __version__ = "9.9.9"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self.__dict__[name] = one = StandIn(name)
        return one


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def find_spec(self, name: str, *_: Any) -> Any:
        if any(name == one or name.startswith(f"{one}.") for one in self._names):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> Any:
        return StandInModule(spec.name)

    def exec_module(self, module: Any) -> None:
        pass


def stand_in(package: str, *names: str) -> None:
    """Makes the package importable without these others. Skips the file when the package is not installed."""
    try:
        version(package)
    except PackageNotFoundError:
        pytest.skip(f"{package} is not installed", allow_module_level=True)
    sys.meta_path.insert(0, Finder(names))


def skip_init(package: str) -> None:
    """The modules of the package can be imported, and its ``__init__.py`` is not run."""
    parent, _, name = package.rpartition(".")
    bare = types.ModuleType(package)
    bare.__path__ = [str(Path(importlib.import_module(parent).__file__ or "").parent / name)]
    sys.modules[package] = bare
