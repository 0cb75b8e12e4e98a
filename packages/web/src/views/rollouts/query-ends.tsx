import { useRef } from "react";
import { Button } from "../../parts/button.js";
import { Icon } from "../../parts/icon.js";
import { IconButton } from "../../parts/icon-button.js";
import { Facets } from "./facets.js";
import { data, type RolloutsState } from "./rollouts-data.js";
import { withWord, wordOf } from "./terms.js";
import type { Layout } from "./use-layout.js";

interface QueryProps {
  state: RolloutsState;
  q: string;
  onQuery(q: string, replace?: boolean): void;
}

/** Chooses a run, where there are some. */
export function Runs({ state: { facets }, q, onQuery }: QueryProps) {
  const runs = facets?.runs ?? [];
  const run = wordOf(q, "run") ?? "";
  if (runs.length === 0) return null;
  return (
    <span className="select query__run">
      <select
        className="input"
        aria-label="Run"
        value={run}
        onChange={({ target }) => onQuery(withWord(q, "run", target.value || undefined))}
      >
        <option value="">All runs</option>
        {run === "" || runs.some((one) => one.run === run) ? null : <option value={run}>{run}</option>}
        {runs.map((one) => (
          <option key={one.run} value={one.run}>
            {one.run}
          </option>
        ))}
      </select>
      <Icon name="down" />
    </span>
  );
}

const LIVE = {
  off: ["", "Connecting"],
  on: ["dot--ok", "Live, every second"],
  lost: ["dot--wait", "No response"],
  paused: ["", "Paused"],
} as const;

/** The state of the stream; on a phone the filters that do not fit. */
export function Live({ state, layout, q, onQuery }: QueryProps & { layout: Layout }) {
  const sheet = useRef<HTMLDialogElement>(null);
  const [look, words] = LIVE[state.live];
  const isPaused = state.live === "paused";
  if (layout === "phone") {
    return (
      <>
        <Button look="sm" className="query__filter" onClick={() => sheet.current?.showModal()}>
          <Icon name="filter" />
          Filter
        </Button>
        <dialog ref={sheet} className="sheet" aria-label="Filters">
          <header className="card__head">
            <h2>Filters</h2>
            <div className="end">
              <IconButton icon="close" label="Close" onClick={() => sheet.current?.close()} />
            </div>
          </header>
          {state.facets ? <Facets facets={state.facets} q={q} onQuery={onQuery} /> : null}
        </dialog>
      </>
    );
  }
  return (
    <>
      <span className="status">
        <span className={`dot ${look}`} />
        {words}
      </span>
      <Button look="sm" className="live__switch" onClick={() => data.setPaused(!isPaused)}>
        <Icon name={isPaused ? "play" : "pause"} />
        {isPaused ? "Resume" : "Pause"}
      </Button>
    </>
  );
}
