import type { ServerView } from "openenv-ts/protocol";
import { count, formatCount } from "../../parts/text/format.js";

/** Errors of the last hour, one bar per minute. */
export function ErrorBars({ view: { errors_by_minute: counts, steps } }: { view: ServerView }) {
  const most = Math.max(...counts, 1);
  const all = counts.reduce((sum, number) => sum + number, 0);
  return (
    <section className="card kpi">
      <h2>Errors</h2>
      <div className="big">
        {formatCount(all)} <small>in the last hour</small>
      </div>
      <svg className="spark" viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label={describe(counts)}>
        {counts.map((errors, at) => {
          const height = 15 + (errors / most) * 75;
          const x = (at / counts.length) * 100 + 0.2;
          return errors > 0 ? (
            <rect key={x} className="spark__bar" x={x} y={100 - height} width={1.3} height={height} />
          ) : null;
        })}
        <path className="spark__base" d="M0,100 H100" />
      </svg>
      <div className="foot">
        <span>60 min</span>
        <span>
          of {formatCount(steps)} {steps === 1 ? "step" : "steps"}
        </span>
      </div>
    </section>
  );
}

function describe(counts: readonly number[]): string {
  const words = counts.toReversed().flatMap((errors, ago) => {
    return errors > 0 ? [`${errors} ${ago === 0 ? "now" : `${ago} min ago`}`] : [];
  });
  if (words.length === 0) return "Errors per minute in the last hour: none";
  return `${count(words.length, "minute")} of the last hour with errors: ${words.slice(0, 5).join(", ")}`;
}
