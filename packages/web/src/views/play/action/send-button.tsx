import { useEffect, useState } from "react";
import { focusProblem } from "../../../form/next-problem.js";
import { Button } from "../../../parts/button.js";
import { count } from "../../../parts/text/format.js";
import { isFree, type Play, type PlaySnapshot } from "../../../play/play.js";

/** Delay before a step counts as long, so that a local server does not flash. */
const COUNT_AFTER_MS = 400;
const OFFER_AFTER_MS = 5000;

interface SendButtonProps {
  form: string;
  verb: string;
  play: Play;
  shown: PlaySnapshot;
  /** Number of fields to correct. */
  invalid: number;
  /** The environment requires a reset before the first step, and there was none. */
  needsReset: boolean;
}

/** Sends the form. Counts the seconds of a long step, and offers to cancel it. */
export function SendButton({ form, verb, play, shown, invalid, needsReset }: SendButtonProps) {
  const { pending, connection, timeline } = shown;
  const waited = useElapsed(pending?.since);
  const connected = connection.status === "connected";
  const done = timeline.episodes.at(-1)?.status === "done";
  const counts = pending && waited >= COUNT_AFTER_MS;
  const primary = !counts && !done && !needsReset;
  return (
    <div className="send-area">
      <div className="send">
        <button
          type="submit"
          form={form}
          className={`btn ${primary ? "btn--primary" : ""}`}
          aria-disabled={!isFree(shown) || needsReset || shown.imported ? true : undefined}
          aria-describedby={`${form}-hint`}
        >
          {counts ? `Waiting ${(waited / 1000).toFixed(1)} s` : verb}
          {counts ? null : <kbd>↵</kbd>}
        </button>
        {invalid > 0 ? (
          <span id={`${form}-hint`} role="alert">
            <button
              type="button"
              className="err err--leads"
              title="Go to the next one"
              onClick={() => focusProblem(form, "next")}
            >
              {count(invalid, "field")} to correct
            </button>
          </span>
        ) : (
          <span id={`${form}-hint`} className="hint keys">
            {shown.imported
              ? "A file is shown: go back to the session"
              : !connected
                ? "Kept until connected"
                : needsReset
                  ? "Reset starts an episode"
                  : done
                    ? "The episode is over"
                    : "Esc leaves the field"}
          </span>
        )}
      </div>
      {counts && waited >= OFFER_AFTER_MS ? (
        <Button look="ghost sm" className="flush" onClick={() => play.leave()}>
          Cancel and open a new session
        </Button>
      ) : null}
    </div>
  );
}

/** Milliseconds since the start, updated ten times a second; 0 without a start. */
function useElapsed(since: number | undefined): number {
  const [now, setNow] = useState(0);
  useEffect(() => {
    if (since === undefined) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 100);
    return () => clearInterval(timer);
  }, [since]);
  return since === undefined ? 0 : Math.max(0, now - since);
}
