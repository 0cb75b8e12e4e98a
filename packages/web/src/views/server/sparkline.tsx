import { GAP_S } from "./samples.js";

interface Point {
  at: number;
  /** Null leaves a gap. */
  value: number | null;
}

interface SparklineProps {
  /** One line each, in this order; the first one may be filled. */
  lines: readonly { points: readonly Point[]; look: "main" | "side" }[];
  filled?: boolean;
  /** Seconds from the left edge to the right one, which is `until`. */
  span: number;
  until: number;
  /** What it shows, for those who do not see it. */
  label: string;
}

/** A number's recent past. The number itself and its peak stand beside it. */
export function Sparkline({ lines, filled = false, span, until, label }: SparklineProps) {
  const values = lines.flatMap(({ points }) => points.map(({ value }) => value ?? 0));
  const top = Math.max(...values, Number.MIN_VALUE) * 1.1;
  const place = ({ at, value }: { at: number; value: number }): [number, number] => [
    100 - ((until - at) / span) * 100,
    100 - (value / top) * 100,
  ];
  return (
    <svg className="spark" viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label={label}>
      {lines.map(({ points, look }, at) =>
        runsOf(points).map((run) => {
          const line = run.map(place).map(([x, y]) => `${x.toFixed(2)},${y.toFixed(1)}`);
          const [left, right] = [line[0]?.split(",")[0], line.at(-1)?.split(",")[0]];
          return (
            <g key={`${look} ${run[0]?.at}`}>
              {filled && at === 0 ? (
                <path className="spark__area" d={`M${left},100 L${line.join(" L")} L${right},100 Z`} />
              ) : null}
              <path className={`spark__line spark__line--${look}`} d={`M${line.join(" L")}`} />
            </g>
          );
        }),
      )}
      <path className="spark__base" d="M0,100 H100" />
    </svg>
  );
}

/** Neighbours that a line may join. */
function runsOf(points: readonly Point[]): { at: number; value: number }[][] {
  const runs: { at: number; value: number }[][] = [];
  let last: number | undefined;
  for (const { at, value } of points) {
    if (value === null) {
      last = undefined;
      continue;
    }
    if (last === undefined || at - last > GAP_S) runs.push([]);
    runs.at(-1)?.push({ at, value });
    last = at;
  }
  return runs;
}
