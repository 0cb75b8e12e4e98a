import type { RolloutEvent } from "openenv-ts/protocol";
import { formatReward } from "../../parts/text/format.js";

/** The cumulative reward of A as a full line and of B as a dashed one. */
export function TwoLines({ a, b }: { a: readonly RolloutEvent[]; b: readonly RolloutEvent[] }) {
  const [left, right] = [sumsOf(a), sumsOf(b)];
  const all = [0, ...left, ...right];
  const [low, high] = [Math.min(...thin(all)), Math.max(...thin(all))];
  const last = Math.max(1, left.length - 1, right.length - 1);
  const line = (sums: number[]): string =>
    thin(
      sums.map(
        (sum, at) => `${((100 * at) / last).toFixed(2)},${(100 - (100 * (sum - low)) / (high - low || 1)).toFixed(2)}`,
      ),
    ).join(" ");
  const end = (sums: number[]): string => formatReward(sums.at(-1) ?? null);
  return (
    <section className="facet" aria-labelledby="lines-h">
      <h3 id="lines-h">Cumulative reward</h3>
      <div className="twolines">
        <span>{formatReward(high)}</span>
        <svg
          viewBox="0 -4 100 108"
          preserveAspectRatio="none"
          role="img"
          aria-label={`A comes to ${end(left)}, B to ${end(right)}`}
        >
          <polyline className="a" points={line(left)} />
          <polyline className="b" points={line(right)} />
        </svg>
        <span>{formatReward(low)}</span>
        <span className="twolines__x">
          <span>reset</span>
          <span>step {last}</span>
        </span>
      </div>
    </section>
  );
}

function sumsOf(events: readonly RolloutEvent[]): number[] {
  let sum = 0;
  return events.map(({ reward }) => {
    sum += Number.isFinite(reward) ? (reward ?? 0) : 0;
    return sum;
  });
}

/** No more points than pixels. */
function thin<T>(points: readonly T[]): T[] {
  const every = Math.ceil(points.length / 600);
  return points.filter((_, at) => at % every === 0 || at === points.length - 1);
}
