import type { ServerView } from "openenv-ts/protocol";
import { CopyButton } from "../../parts/text/copy-button.js";
import { count, formatTime } from "../../parts/text/format.js";
import { errorKeys } from "./error-keys.js";
import { shortId } from "./session-rows.js";

/** The failures, the most frequent first, then the latest errors, newest first. */
export function ErrorsCard({ view }: { view: ServerView }) {
  const { failures, recent_errors: recent } = view;
  const keys = errorKeys(recent);
  const most = Math.max(...failures.map((failure) => failure.count), 1);
  return (
    <section className="card" aria-labelledby="errors-h">
      <header className="card__head">
        <h2 id="errors-h">Errors</h2>
        <span className="muted">since the start, by message without numbers and names</span>
        <div className="end">
          {recent.length > 0 ? <CopyButton what="as JSONL" text={() => toJsonl(recent)} /> : null}
        </div>
      </header>
      {failures.length > 0 ? (
        <ol className="failures" tabIndex={0} aria-label={count(failures.length, "failure")}>
          {failures.map((failure) => (
            <li key={`${failure.code} ${failure.message}`}>
              <span className="num">{failure.count.toLocaleString("en")}</span>
              <p title={failure.example}>{failure.message}</p>
              <span className="failures__where muted">
                <span className="mono">{failure.code}</span>
                <span>
                  last in <span className="mono">{whereOf(failure)}</span>
                </span>
                {failure.session_id === null ? null : (
                  <CopyButton what={`the id ${shortId(failure.session_id)}`} text={() => failure.session_id ?? ""} />
                )}
              </span>
              <i className="failures__bar" style={{ width: `${(failure.count / most) * 100}%` }} />
            </li>
          ))}
        </ol>
      ) : (
        <p className="pad muted">None so far.</p>
      )}
      {recent.length > 0 ? (
        <details>
          <summary className="pad">The latest {count(recent.length, "error")}</summary>
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
        </details>
      ) : null}
    </section>
  );
}

function whereOf({ session_id, step, worker }: Pick<ServerView["failures"][number], "session_id" | "step" | "worker">) {
  if (session_id === null) return `worker ${worker}`;
  return `${shortId(session_id)}${step === null ? "" : ` · step ${step}`}`;
}

function toJsonl(errors: ServerView["recent_errors"]): string {
  return errors.map((error) => `${JSON.stringify(error)}\n`).join("");
}
