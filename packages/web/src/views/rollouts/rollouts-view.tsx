import type { FailureRow } from "openenv-ts/protocol";
import { useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { hrefOf, navigate, type RolloutsRoute, useRoute } from "../../app/router.js";
import { Instead } from "../../parts/instead.js";
import { TokenForm } from "../../parts/token-form.js";
import type { ViewProps } from "../../views.js";
import { Facets, failureName, messageOf } from "./facets.js";
import { itemsOf } from "./items.js";
import { QueryBar } from "./query-bar.js";
import { Live, Runs } from "./query-ends.js";
import { data, type RolloutsState } from "./rollouts-data.js";
import { RowsPane, sortOf } from "./rows-pane.js";
import { type Chip, chipsOf, withoutChip } from "./terms.js";
import { TranscriptPane } from "./transcript-pane.js";
import { useLayout } from "./use-layout.js";
import { useSelection } from "./use-selection.js";
import "./rollouts.css";

/** The recorded episodes: a table that is filtered by its query, or one of them. */
export default function RolloutsView({ info }: ViewProps) {
  const route = useRoute();
  if (route.view !== "rollouts") return null;
  if (info.rollouts) return <Recorded route={route} />;
  return (
    <Instead title="This server records no episodes">
      <p>
        Start it with <code>openenv serve --store ./openenv-data</code>. Every episode of every client is then listed
        here.
      </p>
    </Instead>
  );
}

function Recorded({ route }: { route: RolloutsRoute }) {
  const { refused, problem } = useSyncExternalStore(data.subscribe, data.snapshot);
  if (!refused) return <Rollouts route={route} />;
  return (
    <Instead title="You need permission to read rollouts">
      <p>
        It shows what clients sent and received. Paste the value of <code>OPENENV_VIEWER_TOKEN</code> or{" "}
        <code>OPENENV_OPERATOR_TOKEN</code> of this server. It is stored in this tab only.
      </p>
      <TokenForm label="Token" problem={problem ?? null} onToken={(token) => data.open(token)} />
    </Instead>
  );
}

/** The table is read also behind a transcript, so that the way back shows it at once. */
function Rollouts({ route }: { route: RolloutsRoute }) {
  const state = useSyncExternalStore(data.subscribe, data.snapshot);
  const { id, step, q, by } = route;
  const failures = state.facets?.failures;
  const chips = useMemo(() => chipsOf(q, (key) => nameOfFailure(failures, key)), [q, failures]);
  const readable = chips.reduceRight((rest, chip) => (chip.problem === undefined ? rest : withoutChip(rest, chip)), q);
  const sort = sortOf(route);
  useEffect(() => data.show({ q: readable, by, sort }), [readable, by, sort]);
  if (id === null) return <Browser route={route} state={state} chips={chips} />;
  return (
    <main className="ro ro--one" id="main" tabIndex={-1}>
      <TranscriptPane id={id} step={step} back={hrefOf({ ...route, id: null, step: null })} />
    </main>
  );
}

interface BrowserProps {
  route: RolloutsRoute;
  state: RolloutsState;
  chips: readonly Chip[];
}

/** The query, the filters, the rows, and on a wide page the selected episode. */
function Browser({ route, state, chips }: BrowserProps) {
  const { q } = route;
  const { rows, open, facets } = state;
  const layout = useLayout();
  const page = useRef<HTMLDivElement>(null);
  const items = useMemo(() => itemsOf({ rows, open }), [rows, open]);
  const go = (change: Partial<RolloutsRoute>, replace = false): void => navigate({ ...route, ...change }, { replace });
  const selection = useSelection(route, items, layout, go);
  const { episode } = selection;
  const onQuery = (text: string, replace = false): void => go({ q: text, sel: null }, replace);
  return (
    <div className="view rollouts" ref={page}>
      <QueryBar
        q={q}
        chips={chips}
        onQuery={onQuery}
        start={<Runs state={state} q={q} onQuery={onQuery} />}
        end={<Live state={state} layout={layout} q={q} onQuery={onQuery} />}
      />
      <main className="ro" id="main" tabIndex={-1}>
        <section className="pane pane--facets" aria-label="Filters">
          <h2 className="sr">Filters</h2>
          <div className="scroll">
            {facets ? <Facets facets={facets} q={q} onQuery={onQuery} brief={layout === "phone"} /> : null}
          </div>
        </section>
        <RowsPane state={state} route={route} items={items} selection={selection} layout={layout} page={page} go={go} />
        {layout === "wide" ? (
          <aside className="pane pane--transcript" aria-label="Transcript">
            {episode === undefined ? (
              <p className="hint pad">Select an episode to read it here.</p>
            ) : (
              <TranscriptPane id={episode} step={null} back={null} />
            )}
          </aside>
        ) : null}
      </main>
    </div>
  );
}

function nameOfFailure(failures: readonly FailureRow[] | undefined, key: string) {
  const failure = failures?.find((one) => one.key === key);
  return failure && `${failureName(failure)}, ${messageOf(failure)}`;
}
