"""How the sessions of a vector environment are divided among the servers behind an address."""

from __future__ import annotations

import time
from collections.abc import Iterable

from ._group import Group
from ._server import Target

LOOKS = 4
"""How many sockets look for servers behind an address at the same time."""
LOOK_S = 10.0
"""How often they look again, while episodes begin."""


class ServerLoads:
    """The sessions of this client on each server behind one address."""

    def __init__(self, groups: Iterable[Group], target: Target) -> None:
        self._groups = [group for group in groups if group.target is target]
        self._loads: dict[str | int, int] = {}
        self._planned: dict[int, int] = {}
        for group in self._groups:
            self._loads[group.server] = self._loads.get(group.server, 0) + group.size

    @property
    def share(self) -> int:
        """How many sessions each server has if all have the same number, rounded up."""
        return -(-sum(self._loads.values()) // max(1, len(self._loads)))

    @property
    def servers(self) -> int:
        return len(self._loads)

    def has(self, group: Group) -> bool:
        return group.server in self._loads

    def has_above(self, load: int) -> bool:
        return any(own > load for own in self._loads.values())

    def leave(self, group: Group, below: int) -> bool:
        """Counts a session that leaves a server with more than ``below``, if it can move to another."""
        if self._loads[group.server] <= below or self.roomiest(below) is None:
            return False
        self._loads[group.server] -= 1
        return True

    def plan(self, group: Group) -> None:
        """Counts a session that will open on the socket."""
        self._loads[group.server] = self._loads.get(group.server, 0) + 1
        self._planned[id(group)] = self._planned.get(id(group), 0) + 1

    def roomiest(self, below: float = float("inf")) -> Group | None:
        """The socket with room on the server with the fewest sessions, fewer than ``below``."""
        now = time.monotonic()
        usable = (
            group
            for group in self._groups
            if group.avoided_until <= now
            and group.has_room_for(1 + self._planned.get(id(group), 0))
            and self._loads[group.server] < below
        )
        return min(usable, key=lambda group: self._loads[group.server], default=None)
