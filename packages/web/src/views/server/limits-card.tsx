import type { ServerView } from "openenv-ts/protocol";
import { count, formatBytes, formatDuration } from "../../parts/text/format.js";

/** The limits that the server was started with. */
export function LimitsCard({ view: { limits, queue_size, restarts, workers } }: { view: ServerView }) {
  const files = workers.filter(({ descriptors, max_descriptors }) => descriptors !== null && max_descriptors !== null);
  const [fullest] = files.sort((a, b) => shareOfFiles(b) - shareOfFiles(a));
  const facts: [string, string][] = [
    ["Idle timeout", limits.session_timeout_s === null ? "none" : formatDuration(limits.session_timeout_s)],
    ["Step timeout", limits.step_timeout_s === null ? "none" : formatDuration(limits.step_timeout_s)],
    ["Queue", queue_size === 0 ? "none" : `${count(queue_size, "place")}, ${formatDuration(limits.queue_timeout_s)}`],
    ["Largest frame", formatBytes(limits.max_message_bytes)],
    ["Worker restarts", String(restarts)],
  ];
  if (fullest?.descriptors != null && fullest.max_descriptors !== null) {
    const { descriptors, max_descriptors: most } = fullest;
    facts.push(["Open files", `${descriptors.toLocaleString("en")} of ${most.toLocaleString("en")}`]);
  }
  return (
    <section className="card" aria-labelledby="limits-h">
      <header className="card__head">
        <h2 id="limits-h">Limits</h2>
      </header>
      <dl className="kv">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function shareOfFiles({ descriptors, max_descriptors: most }: ServerView["workers"][number]): number {
  return (descriptors ?? 0) / (most ?? 1);
}
