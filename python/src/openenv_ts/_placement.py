"""On which servers and sockets the sessions of a vector environment are."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from ._group import MAX_BATCH, Group, Slot, by_group
from ._server import Target
from ._sockets import IO
from ._spread import LOOK_S, LOOKS, ServerLoads
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
            finds_others = False
            if target.has_batch:
                places = self._divide(target, left[:room])
                if not places:
                    # The others open when it is known which servers there are.
                    finds_others = limit > 1 and len(left) > 1 and self._is_due(target)
                    target.looked_at = time.monotonic()
                    group = self._add_group(target, limit)
                    places = [(group, left[:1] if finds_others else left[: min(limit, room)])]
            else:
                places = [(self._add_group(target, 1), [slot]) for slot in left[: min(room, 64)]]
            opening = [group.open(len(own), deadline) for group, own in places]
            full: list[Slot] = []
            for (group, own), opened in zip(places, await self._io.gather(opening), strict=True):
                full += place_opened(group, own, opened)
                left = left[len(opened) :] if len(places) == 1 else [slot for slot in left if slot not in own]
                await self._retire(group)
            if finds_others:
                group, own = places[0]
                if group.connection.server is not None:
                    await self._look(target, len(left), deadline)
                elif not group.connection.up:
                    # No server answers.
                    for slot in left:
                        slot.release(own[0].error or no_episode())
                    return
            if ServerLoads(self._groups, target).roomiest() is not None:
                left += full

    def _divide(self, target: Target, slots: Sequence[Slot]) -> list[tuple[Group, list[Slot]]]:
        """Sockets with room for these sessions, which the servers of an address get in equal numbers."""
        loads = ServerLoads(self._groups, target)
        places: dict[int, tuple[Group, list[Slot]]] = {}
        for slot in slots:
            group = loads.roomiest()
            if group is None:
                break
            loads.plan(group)
            places.setdefault(id(group), (group, []))[1].append(slot)
        return list(places.values())

    async def even(self, slots: Sequence[Slot], deadline: float) -> None:
        """Moves sessions whose next episode begins from servers with more than their share to those with less, such as
        servers that were added behind an address."""
        for target in self._targets:
            if not target.has_batch or self._concurrency == 1 or target.load < 2:
                continue
            own = [slot for slot in slots if slot.group is not None and slot.group.target is target]
            if own and self._is_due(target):
                await self._look(target, LOOKS, deadline)
            loads = ServerLoads(self._groups, target)
            share = loads.share
            crowded = [slot for slot in own if slot.group is not None and loads.leave(slot.group, share)]
            await self._transfer(crowded, target, share, deadline)
            if not loads.has_above(share):
                await self._retire_unused(target)

    async def leave(self, slots: Sequence[Slot], deadline: float) -> None:
        """Moves sessions whose servers are paused or stop to other servers. Those that no server has room for stay."""
        left = {slot.group.server for slot in slots if slot.group is not None}
        for group in self._groups:
            if group.server in left:
                group.avoided_until = time.monotonic() + LOOK_S
        for target in self._targets:
            staying = [slot for slot in slots if slot.group is not None and slot.group.target is target]
            others = [other for other in self._targets if other is not target]
            places = [(target, staying)] if staying else []
            while places:
                staying = []
                for place, own in places:
                    if ServerLoads(self._groups, place).roomiest() is None:
                        await self._look(place, len(own), deadline, moving=True)
                    rest = await self._transfer(own, place, float("inf"), deadline)
                    await self._retire_unused(place)
                    staying += rest
                    if rest and place in others:
                        others.remove(place)
                places = share_out(staying, others)

    async def _transfer(self, slots: Sequence[Slot], target: Target, below: float, deadline: float) -> list[Slot]:
        """Moves sessions to the servers of an address that have fewer than ``below``. Returns those that stay."""
        loads = ServerLoads(self._groups, target)
        planned: dict[int, tuple[Group, list[Slot]]] = {}
        staying: list[Slot] = []
        for slot in slots:
            group = loads.roomiest(below)
            if group is None:
                staying.append(slot)
            else:
                loads.plan(group)
                planned.setdefault(id(group), (group, []))[1].append(slot)
        places = list(planned.values())
        opened = await self._io.gather([group.open(len(own), deadline) for group, own in places])
        ended: dict[int, tuple[Group, list[int]]] = {}
        for (group, own), replies in zip(places, opened, strict=True):
            for slot, one in zip(own, replies, strict=True):
                before = slot.group
                if isinstance(one, OpenEnvError) or before is None:
                    group.avoided_until = time.monotonic() + LOOK_S
                    staying.append(slot)
                    continue
                ended.setdefault(id(before), (before, []))[1].append(slot.session)
                slot.release(no_episode())
                slot.place(group, one)
                slot.moved = True
        for group, sessions in ended.values():
            if group.size > 0:
                await group.tell("close_many", [{"session": session} for session in sessions], deadline)
            await self._retire(group)
        return staying

    async def _look(self, target: Target, most: int, deadline: float, *, moving: bool = False) -> None:
        """Opens sockets to find servers behind an address, and keeps one to each server that has none. Stops when it
        finds no more, or enough for ``most`` sessions."""
        target.looked_at = time.monotonic()
        until = min(deadline, time.monotonic() + target.connect_timeout)
        limit = min(self._concurrency, MAX_BATCH) if target.has_batch else 1
        found = 1
        while most > 0 and found > 0:
            loads = ServerLoads(self._groups, target)
            count = min(most, max(LOOKS, loads.servers) if target.has_batch else 64)
            looking = [Group(target, limit) for _ in range(count)]
            usable = await self._io.gather([group.look(until, moving) for group in looking])
            found = 0
            for group, is_usable in zip(looking, usable, strict=True):
                is_new = not target.has_batch or not ServerLoads(self._groups, target).has(group)
                if is_usable and is_new and not self._closed:
                    self._groups.append(group)
                    found += 1
                else:
                    await group.connection.close()
            most -= found

    def _is_due(self, target: Target) -> bool:
        return time.monotonic() - target.looked_at >= LOOK_S

    async def _retire_unused(self, target: Target) -> None:
        for group in [group for group in self._groups if group.target is target]:
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


def share_out(slots: Sequence[Slot], targets: Sequence[Target]) -> list[tuple[Target, list[Slot]]]:
    """Divides sessions among servers, so that those with the fewest get the most."""
    if not slots or not targets:
        return []
    places: list[tuple[Target, list[Slot]]] = [(target, []) for target in targets]
    for slot in slots:
        min(places, key=lambda place: place[0].load + len(place[1]))[1].append(slot)
    return [(target, own) for target, own in places if own]


def place_opened(group: Group, slots: Sequence[Slot], opened: Sequence[int | OpenEnvError]) -> list[Slot]:
    """Returns the slots for which the server has no room. A socket with one session opens no others."""
    full = []
    for slot, one in zip(slots, opened, strict=False):
        if not isinstance(one, OpenEnvError):
            slot.place(group, one)
            continue
        slot.release(one)
        if one.code == "CAPACITY_REACHED":
            group.avoided_until = time.monotonic() + LOOK_S
            full.append(slot)
    return full
