"""On which servers and sockets the sessions of a vector environment are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ._group import MAX_BATCH, Group, Slot, by_group
from ._server import Target
from ._sockets import IO
from .errors import OpenEnvError, client_closed, no_episode


class Placement:
    """Opens and ends sessions; each is opened on the server with the fewest sessions of this client."""

    def __init__(self, io: IO, targets: Sequence[Target], concurrency: int) -> None:
        self._io, self._targets, self._concurrency = io, targets, concurrency
        self._groups: list[Group] = []
        self._closed = False

    async def end(self, slots: Iterable[Slot], deadline: float) -> None:
        """Ends the sessions of these slots."""
        for group, members in by_group(slot for slot in slots if slot.open):
            if group.is_batch:
                await group.tell("close_many", [{"session": slot.session} for slot in members], deadline)
            else:
                await group.connection.close()
            for slot in members:
                slot.release(no_episode())

    async def close(self) -> None:
        """Ends all sessions; a running call fails."""
        self._closed = True
        groups, self._groups = self._groups, []
        await self._io.gather([group.connection.close() for group in groups])

    async def open(self, slots: Sequence[Slot], tried: Mapping[int, set[int]], deadline: float) -> None:
        if self._closed:
            raise client_closed()
        places: dict[int, list[Slot]] = {}
        loads = [target.load for target in self._targets]
        for slot in slots:
            slot.release(no_episode())
            number = min((n for n in range(len(loads)) if n not in tried[slot.index]), key=lambda n: loads[n])
            tried[slot.index].add(number)
            loads[number] += 1
            places.setdefault(number, []).append(slot)
        if places:
            unused = [one for one in self._groups if one.size == 0 and not (one.is_batch and one.connection.up)]
            await self._io.gather([self._retire(group) for group in unused])
            room = max(1, self._concurrency // len(places))
            opening = [self._open_at(self._targets[number], own, room, deadline) for number, own in places.items()]
            await self._io.gather(opening)

    async def _open_at(self, target: Target, slots: Sequence[Slot], room: int, deadline: float) -> None:
        left = list(slots)
        limit = min(self._concurrency, MAX_BATCH)
        while left:
            if target.has_batch:
                open_groups = (one for one in self._groups if one.target is target and one.connection.up)
                group = next((one for one in open_groups if one.size < limit), None)
                groups = [group or self._add_group(target, limit)]
            else:
                groups = [self._add_group(target, 1) for _ in left[: min(room, 64)]]
            counts = [min(len(left), group.limit - group.size, room) for group in groups]
            opening = [group.open(count, deadline) for group, count in zip(groups, counts, strict=True)]
            for group, opened in zip(groups, await self._io.gather(opening), strict=True):
                for one in opened:
                    slot = left.pop(0)
                    if isinstance(one, OpenEnvError):
                        slot.release(one)
                    else:
                        slot.place(group, one)
                await self._retire(group)

    def _add_group(self, target: Target, limit: int) -> Group:
        group = Group(target, limit)
        self._groups.append(group)
        return group

    async def _retire(self, group: Group) -> None:
        """Closes a socket without sessions."""
        if group.size == 0 and group in self._groups:
            self._groups.remove(group)
            await group.connection.close()
