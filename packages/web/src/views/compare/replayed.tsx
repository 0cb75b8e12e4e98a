import type { RolloutEvent } from "openenv-ts/protocol";
import { useEffect, useState } from "react";
import { Button } from "../../parts/button.js";
import { type ReplayState, replay } from "../../play/replay.js";
import { type NewStep, timelineOf } from "../../play/timeline.js";

/** Plays the recorded requests of B again in a session of this page, and says whether its answers are the same. */
export function Replayed({ events }: { events: readonly RolloutEvent[] }) {
  const [run, setRun] = useState<readonly RolloutEvent[]>();
  const [state, setState] = useState<ReplayState>();
  useEffect(() => {
    if (run !== events) return;
    const controller = new AbortController();
    const [reset, ...steps] = events.map(recorded);
    if (reset) {
      const timeline = timelineOf([{ number: 1, reset, steps }]);
      void replay(timeline, { goOn: false, signal: controller.signal, onChange: setState });
    }
    return () => controller.abort();
  }, [run, events]);
  // A call of MCP is outside of the socket that replays.
  if (events[0]?.type !== "reset" || events.some(({ type, request }) => type === "tool" || request === null))
    return null;
  const start = (): void => {
    setState(undefined);
    setRun(events);
  };
  return (
    <span className="replayed" role="status">
      {run === events && state ? <span>{inWords(state)}</span> : null}
      {run === events && (state?.status ?? "playing") === "playing" ? null : (
        <Button look="ghost sm" onClick={start}>
          Replay B
        </Button>
      )}
    </span>
  );
}

function inWords({ status, firstDifference, problem }: ReplayState): string {
  if (status === "equal") return "Replayed just now: B is reproduced exactly";
  if (status === "differs") return `Replayed just now: B differs from step ${firstDifference} on`;
  if (status === "failed") return `The replay was stopped: ${problem}`;
  return status === "queued" ? "The replay waits for a session" : "Replaying B";
}

function recorded({ type, request, answer, error, ms, at }: RolloutEvent): NewStep {
  return {
    kind: type === "reset" ? "reset" : "step",
    action: request ?? {},
    observation: answer?.observation ?? null,
    reward: answer?.reward ?? null,
    done: answer?.done ?? false,
    metadata: answer?.metadata,
    view: undefined,
    // A tool that refused has an answer, and is played again.
    failure: answer || !error ? undefined : { code: error.code, message: error.message, issues: [] },
    counted: answer !== null,
    ms,
    at,
    exchange: undefined,
  };
}
