import type { ServerView } from "openenv-ts/protocol";
import { Button } from "../../parts/button.js";
import { Icon } from "../../parts/icon.js";
import { count, formatDuration } from "../../parts/text/format.js";
import { BASE } from "../../server/base.js";

interface FactsProps {
  view: ServerView | undefined;
  /** The server does not respond at the moment. */
  stale: boolean;
  paused: boolean;
  onPause(on: boolean): void;
}

/** The URL of the server, and whether the numbers are live. */
export function Facts({ view, stale, paused, onPause }: FactsProps) {
  const [look, words] = paused
    ? ["", "Paused"]
    : stale
      ? ["dot--wait", "No response"]
      : ["dot--ok", "Live, every second"];
  return (
    <div className="meta">
      <span className="mono clip">{BASE}</span>
      {view ? (
        <>
          <span>{view.mode} mode</span>
          <span>{count(view.workers.length + view.silent_workers.length, "worker")}</span>
          <span>up {formatDuration(view.uptime_s)}</span>
          <span className="hide-sm">openenv-ts {view.server_version}</span>
        </>
      ) : null}
      <span className="grow hide-sm" />
      <span className="live">
        <span className="status">
          <span className={`dot ${look}`} />
          {words}
        </span>
        <Button look="sm" className="live__switch" onClick={() => onPause(!paused)}>
          <Icon name={paused ? "play" : "pause"} />
          {paused ? "Resume" : "Pause"}
        </Button>
      </span>
    </div>
  );
}
