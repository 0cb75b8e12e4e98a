import type { ServerView } from "openenv-ts/protocol";
import { count, formatBytes, formatDuration, formatMs, formatRate } from "../../parts/text/format.js";

/** The state of each worker. A worker that does not respond is listed with its sessions and the time. */
export function WorkersCard({ view: { workers, silent_workers: silent } }: { view: ServerView }) {
  return (
    <section className="card" aria-labelledby="workers-h">
      <header className="card__head">
        <h2 id="workers-h">Workers</h2>
        <span className="muted">{workers.length + silent.length}</span>
      </header>
      <div className="table-wrap" tabIndex={0} role="region" aria-label="Workers, scrolls sideways">
        <table className="workers">
          <thead>
            <tr>
              <th>
                Worker<span className="hide-sm">, pid</span>
              </th>
              <th className="num">Sessions</th>
              <th className="num lo">Steps/s</th>
              <th className="num">CPU</th>
              <th className="num">Memory</th>
              <th className="num">Loop lag</th>
            </tr>
          </thead>
          <tbody>
            {workers.map((worker) => (
              <tr key={worker.pid}>
                <td>
                  {worker.worker} <span className="muted hide-sm">{worker.pid}</span>
                </td>
                <td className="num">
                  {worker.sessions} / {worker.max_sessions}
                </td>
                <td className="num lo">{formatRate(worker.steps_per_second)}</td>
                <td className="num">{Math.round(worker.cpu_share * 100)} %</td>
                <td className="num">{formatBytes(worker.rss_bytes, 0)}</td>
                <td className="num">{formatMs(worker.loop_lag_ms)}</td>
              </tr>
            ))}
            {silent.map(({ worker, pid, sessions, max_sessions, silent_s }) => (
              <tr key={pid}>
                <td>
                  {worker} <span className="muted hide-sm">{pid}</span>
                </td>
                <td className="num">
                  {sessions} / {max_sessions}
                </td>
                <td colSpan={4}>
                  <span className="status status--wait">
                    <span className="dot dot--wait" />
                    No answer for {formatDuration(silent_s)}
                  </span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {silent.length > 0 ? (
        <p className="pad muted">
          {count(silent.length, "worker")} {silent.length === 1 ? "does" : "do"} not answer: a call blocks the process,
          so its sessions cannot be listed. After WORKER_TIMEOUT without a response it is replaced, and its sessions are
          lost.
        </p>
      ) : null}
    </section>
  );
}
