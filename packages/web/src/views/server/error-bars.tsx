import type { ServerView } from "openenv-ts/protocol";
import { count, formatCount } from "../../parts/text/format.js";

const MINUTES = 60;
const HOUR_S = 3600;

/** Errors of the last hour, one bar per minute. */
export function ErrorBars({ view: { at, errors, recent_errors: recent, steps } }: { view: ServerView }) {
  const recently = recent.filter((error) => error.at > at - HOUR_S);
  const perMinute = countByMinute(recently.map((error) => at - error.at));
  const most = Math.max(...perMinute.values(), 1);
  // The server lists only the latest errors, and counts all.
  const counted = Object.values(errors).reduce((sum, number) => sum + number, 0);
  const isCut = recently.length === recent.length && counted > recent.length;
  const shown = `${recently.length}${isCut ? "+" : ""}`;
  return (
    <section className="card kpi">
      <h2>Errors</h2>
      <div className="big">
        {shown} <small>in the last hour</small>
      </div>
      <svg
        className="spark"
        viewBox="0 0 100 100"
        preserveAspectRatio="none"
        role="img"
        aria-label={describe(perMinute)}
      >
        {[...perMinute].map(([minute, errors]) => {
          const height = 15 + (errors / most) * 75;
          return (
            <rect
              key={minute}
              className="spark__bar"
              x={((MINUTES - 1 - minute) / MINUTES) * 100 + 0.2}
              y={100 - height}
              width={1.3}
              height={height}
            />
          );
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

/** The number of errors by minutes ago. */
function countByMinute(ages: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const age of ages) {
    const minute = Math.min(MINUTES - 1, Math.max(0, Math.floor(age / 60)));
    counts.set(minute, (counts.get(minute) ?? 0) + 1);
  }
  return counts;
}

function describe(perMinute: ReadonlyMap<number, number>): string {
  if (perMinute.size === 0) return "Errors per minute in the last hour: none";
  const words = [...perMinute].map(([minute, errors]) => `${errors} ${minute === 0 ? "now" : `${minute} min ago`}`);
  return `${count(perMinute.size, "minute")} of the last hour with errors: ${words.slice(0, 5).join(", ")}`;
}
