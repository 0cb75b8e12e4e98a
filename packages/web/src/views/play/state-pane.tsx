import { Button } from "../../parts/button.js";
import { Notice } from "../../parts/notice.js";
import { Json } from "../../parts/value/json.js";
import type { Play, PlaySnapshot } from "../../play/play.js";

/** The state of the environment, labelled with its step. */
export function StatePane({ play, shown }: { play: Play; shown: PlaySnapshot }) {
  const { state, timeline, connection, pending } = shown;
  const old = state !== undefined && state.afterSteps < timeline.steps.length;
  const free = connection.status === "connected" && !pending && !shown.imported;
  return (
    <section className="pane pane--state" aria-labelledby="state-h">
      <header className="pane__head">
        <h2 id="state-h">State</h2>
        <span className="hint">{state ? `after step ${state.stepNumber}${old ? ", older" : ""}` : "not read yet"}</span>
        <span className="grow" />
        <Button look="ghost sm" free={free} onClick={() => void play.refreshState()}>
          Refresh<kbd>S</kbd>
        </Button>
      </header>
      <div className="pane__body scroll" tabIndex={0} role="group" aria-labelledby="state-h">
        {state?.failure ? (
          <Notice tone="bad" title="The state could not be read">
            {state.failure.message}
          </Notice>
        ) : state ? (
          <Json value={state.value} bare />
        ) : (
          <p className="hint">
            The state is read after a reset, after each step unless that takes long, and when you refresh it.
          </p>
        )}
      </div>
    </section>
  );
}
