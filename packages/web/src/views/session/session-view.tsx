import type { RolloutSession } from "openenv-ts/protocol";
import { hrefOf, ROLLOUTS, useRoute } from "../../app/router.js";
import { Button, Retry } from "../../parts/button.js";
import { Instead } from "../../parts/instead.js";
import { Loading } from "../../parts/loading/loading.js";
import { count } from "../../parts/text/format.js";
import { TokenForm } from "../../parts/token-form.js";
import { keepToken, tabToken } from "../../server/token.js";
import { useFetched } from "../../use-fetched.js";

/** What the link in a trainer's log leads to: the episodes of a session, or what is missing to see them. */
export default function SessionView() {
  const route = useRoute();
  return route.view === "session" ? <SessionPage key={route.handle} handle={route.handle} /> : null;
}

function SessionPage({ handle }: { handle: string }) {
  const { value, problem, refused, load } = useFetched<RolloutSession>(
    `/rollouts/sessions/${encodeURIComponent(handle)}`,
    0,
  );
  const takeToken = (token: string): void => {
    keepToken(token);
    load();
  };
  const title = (
    <>
      Session <bdi className="mono">{handle}</bdi>
    </>
  );
  return (
    <Instead title={title}>
      {refused ? (
        <>
          <p>This page requires a token with permission to read rollouts.</p>
          <TokenForm
            label="Token"
            problem={tabToken() === undefined ? null : "The server rejected this token."}
            onToken={takeToken}
          />
        </>
      ) : problem !== undefined ? (
        <>
          <p>
            The server shows no episode of this session: it records none, or they were removed. Episodes are recorded
            with <code>openenv serve --store</code>.
          </p>
          <p className="muted">{problem}</p>
          <Retry onClick={load} />
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
    </Instead>
  );
}
