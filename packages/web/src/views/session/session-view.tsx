import { hrefOf, ROLLOUTS, useRoute } from "../../app/router.js";
import { Button } from "../../parts/button.js";
import { Loading } from "../../parts/loading/loading.js";
import { count } from "../../parts/text/format.js";
import { TokenForm } from "../../parts/token-form.js";
import { keepToken } from "../../server/token.js";
import { useFetched } from "../../use-fetched.js";

/** `GET /rollouts/sessions/<handle>`: the recorded episodes, the newest first, and whether the session is open. */
interface SessionEpisodes {
  episodes: string[];
  live: boolean;
}

/** What the link in a trainer's log leads to: the episodes of a session, or what is missing to see them. */
export default function SessionView() {
  const route = useRoute();
  const handle = route.view === "session" ? route.handle : "";
  const { value, problem, needsToken, load } = useFetched<SessionEpisodes>(
    `/rollouts/sessions/${encodeURIComponent(handle)}`,
    0,
  );
  const takeToken = (token: string): void => {
    keepToken(token);
    load();
  };
  return (
    <main className="page" id="main" tabIndex={-1}>
      <section className="card" aria-labelledby="session-h">
        <div className="empty">
          <h2 id="session-h" className="empty__title">
            Session <bdi className="mono">{handle}</bdi>
          </h2>
          {needsToken ? (
            <>
              <p>To see what clients do needs the right to read rollouts. Paste a token of this server that has it.</p>
              <TokenForm label="Token" problem={null} onToken={takeToken} />
            </>
          ) : problem !== undefined ? (
            <>
              <p>
                The server shows no episode of this session: it records none, or they were removed. Episodes are
                recorded with <code>openenv serve --store</code>.
              </p>
              <p className="muted">{problem}</p>
              <Button look="sm" onClick={load}>
                Try again
              </Button>
            </>
          ) : value === undefined ? (
            <Loading what="the session" />
          ) : (
            <>
              <p>
                {value.live ? "The session is open. " : "The session has ended. "}
                {value.episodes.length === 0
                  ? "It has no recorded episode yet."
                  : `It has ${count(value.episodes.length, "recorded episode")}, the newest first.`}
              </p>
              <ul>
                {value.episodes.map((id) => (
                  <li key={id}>
                    <a className="mono" href={hrefOf({ ...ROLLOUTS, id })}>
                      {id}
                    </a>
                  </li>
                ))}
              </ul>
              <Button look="sm" onClick={load}>
                Read again
              </Button>
            </>
          )}
        </div>
      </section>
    </main>
  );
}
