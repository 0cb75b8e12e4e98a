"""Groups of episodes that begin alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from .results import VectorResult, in_group

if TYPE_CHECKING:
    from .vector import AsyncVectorEnv


async def start_groups(
    envs: AsyncVectorEnv,
    starts: Sequence[Mapping[str, Any]],
    fork: bool,
    rng: Literal["same", "split"],
    timeout: float | None,
) -> list[VectorResult]:
    """Starts the episodes of ``reset_groups``."""
    count, rest = divmod(envs.size, max(1, len(starts)))
    if not starts or rest:
        raise ValueError(f"{envs.size} sessions cannot be divided into {len(starts)} groups of the same size")
    places = [divmod(index, count) for index in range(envs.size)]
    options = [None if fork and place else starts[group] for group, place in places]
    results = await envs.reset(options, timeout=timeout)
    if fork and count > 1:
        parents = [index - place for index, (_, place) in enumerate(places)]
        copies = await envs.fork(parents, rng=rng, timeout=timeout)
        for index, parent in enumerate(parents):
            first = results[parent]
            results[index] = results[index] or copies[index] or (first and replace(first, index=index))
    for result, (group, _) in zip(results, places, strict=True):
        if result is not None:
            in_group(result, group)
    return [result for result in results if result is not None]
