import type { ServerView } from "../../../../openenv/src/protocol/web.js";
import { formatBytes, formatMs, formatRate } from "../../parts/format.js";

/** What each process does. */
export function WorkersCard({ view: { workers } }: { view: ServerView }) {
  return (
    <section className="card" aria-labelledby="workers-h">
      <header className="card__head">
        <h2 id="workers-h">Workers</h2>
        <span className="muted">{workers.length}</span>
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
          </tbody>
        </table>
      </div>
    </section>
  );
}
