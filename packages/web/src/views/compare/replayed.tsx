import type { RolloutEvent } from "openenv-ts/protocol";
import { useEffect, useState } from "react";
import { Button } from "../../parts/button.js";
import { canPlayAgain, recordedSteps } from "../../play/play-on.js";
import { type ReplayState, replay } from "../../play/replay.js";
import { timelineOf } from "../../play/timeline.js";
import { nameOf } from "./align.js";

/** Plays the recorded requests of B again in a session of this page, and says whether its answers are the same. */
export function Replayed({ events, seed }: { events: readonly RolloutEvent[]; seed: number | null }) {
  const [run, setRun] = useState(0);
  const [state, setState] = useState<ReplayState>();
  useEffect(() => {
    if (run === 0) return;
    const controller = new AbortController();
    const [reset, ...steps] = recordedSteps(events, seed);
    if (reset) {
      const timeline = timelineOf([{ number: 1, reset, steps }]);
      void replay(timeline, { goOn: false, signal: controller.signal, onChange: setState });
    }
    return () => controller.abort();
  }, [run, events, seed]);
  if (!canPlayAgain(events)) return null;
  const isPlaying = state?.status === "playing" || state?.status === "queued";
  return (
    <span className="replayed" role="status">
      {state ? <span>{inWords(state, events)}</span> : null}
      {isPlaying ? null : (
        <Button look="ghost sm" onClick={() => setRun(run + 1)}>
          Replay B
        </Button>
      )}
    </span>
  );
}

function inWords({ status, firstDifference, problem }: ReplayState, events: readonly RolloutEvent[]): string {
  if (status === "equal") return "Replayed just now: B is reproduced exactly";
  if (status === "failed") return `The replay was stopped: ${problem}`;
  if (status !== "differs") return status === "queued" ? "Waiting for a session" : "Replaying B";
  // A replay has no rows for failed requests.
  const first = events.filter(({ answer }) => answer !== null)[firstDifference];
  return `Replayed just now: B differs from ${nameOf(first?.event ?? 0).toLowerCase()} on`;
}
