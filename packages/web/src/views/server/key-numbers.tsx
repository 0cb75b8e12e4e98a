import type { ServerView } from "openenv-ts/protocol";
import { formatMs, formatRate } from "../../parts/text/format.js";
import { ErrorBars } from "./error-bars.js";
import { type Sample, windowOf } from "./samples.js";
import { countUnlisted } from "./session-rows.js";
import { Sparkline } from "./sparkline.js";

interface KeyNumbersProps {
  view: ServerView;
  samples: readonly Sample[];
}

/** The four key numbers of a server, and the recent history of three. */
export function KeyNumbers({ view, samples }: KeyNumbersProps) {
  return (
    <div className="kpis">
      <Sessions view={view} />
      <StepRate view={view} samples={samples} />
      <Latency view={view} samples={samples} />
      <ErrorBars view={view} />
    </div>
  );
}

function Sessions({ view }: { view: ServerView }) {
  const { capacity, stepping, waiting } = view;
  const { active_sessions: active, max_sessions: max, available_slots: free } = capacity;
  const unknown = countUnlisted(view);
  const idle = Math.max(0, active - stepping - unknown);
  const words = [`${stepping} stepping`, `${idle} idle`, ...(unknown > 0 ? [`${unknown} unknown`] : [])];
  const share = (sessions: number): string => `${max > 0 ? Math.min(100, (sessions / max) * 100) : 0}%`;
  return (
    <section className="card kpi">
      <h2>Sessions</h2>
      <div className="big">
        {active.toLocaleString("en")} <small>of {max.toLocaleString("en")}</small>
      </div>
      <div className="capacity" role="img" aria-label={`${active} of ${max} sessions in use: ${words.join(", ")}`}>
        <i style={{ width: share(stepping) }} />
        <i className="idle" style={{ width: share(idle + unknown) }} />
      </div>
      <div className="foot">
        <span>{words.join(" · ")}</span>
        <span className={waiting > 0 ? "is-waiting" : undefined}>
          {free} free · {waiting} waiting
        </span>
      </div>
    </section>
  );
}

function StepRate({ view, samples }: KeyNumbersProps) {
  const rates = samples.map(({ stepsPerSecond }) => stepsPerSecond);
  const peak = Math.max(...rates, 0);
  const span = windowOf(samples);
  const points = samples.map(({ at, stepsPerSecond }) => ({ at, value: stepsPerSecond }));
  return (
    <section className="card kpi">
      <h2>Steps per second</h2>
      <div className="big">{formatRate(view.steps_per_second)}</div>
      <Sparkline
        lines={[{ points, look: "main" }]}
        filled
        span={span}
        until={view.at}
        label={`Steps per second in the last ${span / 60} min, between ${formatRate(Math.min(...rates, peak))} and ${formatRate(peak)}`}
      />
      <div className="foot">
        <span>{span / 60} min</span>
        <span>peak {formatRate(peak)}</span>
      </div>
    </section>
  );
}

function Latency({ view: { at, latency_ms: now }, samples }: KeyNumbersProps) {
  const span = windowOf(samples);
  const peak = Math.max(...samples.map(({ p99 }) => p99 ?? 0), 0);
  const lines = [
    { points: samples.map((sample) => ({ at: sample.at, value: sample.p50 })), look: "main" },
    { points: samples.map((sample) => ({ at: sample.at, value: sample.p99 })), look: "side" },
  ] as const;
  return (
    <section className="card kpi">
      <h2>Step latency</h2>
      <div className="big">
        {now ? (
          <>
            {splitMs(now.p50)[0]} <small>{splitMs(now.p50)[1]} p50</small>
            <span>{splitMs(now.p99)[0]}</span> <small>{splitMs(now.p99)[1]} p99</small>
          </>
        ) : (
          <>
            none <small>no step in 10 s</small>
          </>
        )}
      </div>
      <Sparkline
        lines={lines}
        span={span}
        until={at}
        label={`Latency in the last ${span / 60} min: ${now ? `p50 ${formatMs(now.p50)}, p99 ${formatMs(now.p99)} now` : "no step now"}${peak > 0 ? `, the highest p99 was ${formatMs(peak)}` : ""}`}
      />
      <div className="foot">
        <span className="legend">
          <span>
            <i className="l" />
            p50
          </span>
          <span>
            <i className="s" />
            p99
          </span>
        </span>
        <span>
          {span / 60} min, p99 peak {peak > 0 ? formatMs(peak) : "none"}
        </span>
      </div>
    </section>
  );
}

/** `0.42` and `ms`, with one more digit below 1 ms. */
function splitMs(ms: number): [string, string] {
  const [number = "", unit = ""] = ms < 1 ? [ms.toFixed(2), "ms"] : formatMs(ms).split(" ");
  return [number, unit];
}
