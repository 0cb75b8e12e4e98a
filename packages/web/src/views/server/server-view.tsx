import { useEffect, useSyncExternalStore } from "react";
import { Notice } from "../../parts/notice.js";
import { tabToken } from "../../server/token.js";
import type { ViewProps } from "../../views.js";
import { Access } from "./access.js";
import { ErrorsCard } from "./errors-card.js";
import { Facts } from "./facts.js";
import { KeyNumbers } from "./key-numbers.js";
import { LimitsCard } from "./limits-card.js";
import { ServerWatch } from "./server-watch.js";
import { SessionsCard } from "./sessions-card.js";
import { WorkersCard } from "./workers-card.js";

const watch = new ServerWatch();

/** The activity of the server for its operator: live, or paused. */
export default function ServerView({ info, play }: ViewProps) {
  const state = useSyncExternalStore(watch.subscribe, watch.snapshot);
  const mayAsk = tabToken() !== undefined;
  useEffect(() => {
    const { paused, refused } = watch.snapshot();
    if (mayAsk && !paused && !refused) watch.start();
  }, [mayAsk]);
  const { view, samples, problem, paused, refused, checking } = state;
  if (refused || checking || !mayAsk) {
    return <Access hopeless={!info.has_operator} problem={problem} onToken={(token) => watch.start(token)} />;
  }
  return (
    <main className="page" id="main" tabIndex={-1}>
      <Facts view={view} stale={problem !== undefined} paused={paused} onPause={(on) => watch.setPaused(on)} />
      {problem ? (
        <Notice tone="wait" title="The numbers are out of date.">
          {problem} {view ? "The numbers are from the last response. " : ""}The page retries every second.
        </Notice>
      ) : null}
      {view ? (
        <>
          <KeyNumbers view={view} samples={samples} />
          <div className="server">
            <SessionsCard
              view={view}
              shown={state}
              play={play}
              records={info.rollouts}
              onList={(change) => watch.list(change)}
            />
            <div className="side">
              <WorkersCard view={view} />
              <ErrorsCard view={view} />
              <LimitsCard view={view} />
            </div>
          </div>
        </>
      ) : null}
    </main>
  );
}
