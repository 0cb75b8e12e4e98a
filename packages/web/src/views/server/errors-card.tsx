import type { ServerView } from "openenv-ts/protocol";
import { CopyButton } from "../../parts/text/copy-button.js";
import { count, formatTime } from "../../parts/text/format.js";
import { errorKeys } from "./error-keys.js";
import { shortId } from "./session-rows.js";

/** The latest errors, newest first. */
export function ErrorsCard({ view }: { view: ServerView }) {
  const { errors, recent_errors: recent } = view;
  const counted = Object.entries(errors).sort(([, a], [, b]) => b - a);
  const keys = errorKeys(recent);
  return (
    <section className="card" aria-labelledby="errors-h">
      <header className="card__head">
        <h2 id="errors-h">Errors</h2>
        <span className="muted">since the start</span>
        <div className="end">
          {recent.length > 0 ? <CopyButton what="as JSONL" text={() => toJsonl(recent)} /> : null}
        </div>
      </header>
      {counted.length > 0 ? (
        <dl className="kv">
          {counted.map(([code, number]) => (
            <div key={code} className="kv__code">
              <dt className="mono">{code}</dt>
              <dd className="num">{number.toLocaleString("en")}</dd>
            </div>
          ))}
        </dl>
      ) : null}
      {recent.length > 0 ? (
        <ol className="log log--scroll" tabIndex={0} aria-label={`The latest ${count(recent.length, "error")}`}>
          {recent.map((error, at) => (
            <li key={keys[at]}>
              <span className="badge badge--bad">{error.code}</span>
              <span className="clip mono muted">{whereOf(error)}</span>
              <time className="muted" dateTime={new Date(error.at * 1000).toISOString()}>
                {formatTime(error.at * 1000)}
              </time>
              <p>{error.message}</p>
            </li>
          ))}
        </ol>
      ) : (
        <p className="pad muted">None so far.</p>
      )}
    </section>
  );
}

function whereOf({ session_id, step, worker }: ServerView["recent_errors"][number]): string {
  if (session_id === null) return `worker ${worker}`;
  return `${shortId(session_id)}${step === null ? "" : ` · step ${step}`}`;
}

function toJsonl(errors: ServerView["recent_errors"]): string {
  return errors.map((error) => `${JSON.stringify(error)}\n`).join("");
}
