import type { WebInfo } from "openenv-ts/protocol";
import { useEffect, useState } from "react";
import { Button } from "../../../parts/button.js";
import { Notice } from "../../../parts/notice.js";
import { formatReward } from "../../../parts/text/format.js";
import { ChangeList } from "../../../parts/value/changes.js";
import type { Imported } from "../../../play/play.js";
import { OWN_PLACE, type ReplayRow, type ReplayState, replay, replayedTimeline } from "../../../play/replay.js";
import { summarizeAction, summarizeObservation } from "../../../play/summary.js";
import type { Timeline, TimelineStep } from "../../../play/timeline.js";
import { saveTimeline } from "./use-files.js";

interface ReplayPaneProps {
  info: WebInfo;
  imported: Imported;
  onClose(): void;
}

/** Number of rows around the last replayed one; the others are in the timeline. */
const MAX_ROWS = 200;

/** Recorded and replayed steps side by side. The first difference is marked; later steps are not compared. */
export function ReplayPane({ info, imported, onClose }: ReplayPaneProps) {
  const [state, setState] = useState<ReplayState>();
  const [run, setRun] = useState({ goOn: false, number: 0 });
  const [showDiff, setShowDiff] = useState(false);
  useEffect(() => {
    const controller = new AbortController();
    void replay(imported.timeline, { goOn: run.goOn, signal: controller.signal, onChange: setState });
    return () => controller.abort();
  }, [imported, run]);
  const all = state?.rows ?? [];
  const played = all.findLastIndex(({ now }) => now !== undefined);
  // After it has stopped at a difference, later rows are not shown.
  const rows = state?.status === "differs" ? all.slice(0, played + 1) : all;
  const from = Math.max(0, Math.min(played - MAX_ROWS / 2, rows.length - MAX_ROWS));
  const first = state && state.firstDifference >= 0 ? rows[state.firstDifference] : undefined;
  const place = first ? placeOf(first.recorded, imported.timeline) : "";
  return (
    <section className="pane pane--step" aria-labelledby="step-h">
      <header className="step__head">
        <h2 id="step-h">Replay</h2>
        <div className="measures clip">
          <span className="clip">{imported.name}</span>
        </div>
        <div className="moves">
          <ReplayBadge state={state} place={place} />
          <Button look="ghost sm" onClick={onClose}>
            Close
          </Button>
        </div>
      </header>
      <div className="scroll" tabIndex={0} role="region" aria-labelledby="step-h">
        <table className="cmp">
          <caption className="sr">Recorded and replayed steps</caption>
          <thead>
            <tr>
              <th className="num">Step</th>
              <th>Recorded</th>
              <th>Replayed</th>
              <th className="num">Reward</th>
              <th className="num">Now</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(from, from + MAX_ROWS).map((row) => (
              <ReplayLine
                key={row.recorded.index}
                row={row}
                before={rows[row.recorded.index - 1]}
                judged={!state || state.firstDifference < 0 || row.recorded.index <= state.firstDifference}
              />
            ))}
          </tbody>
        </table>
        <div className="pad stack">
          <Verdict
            state={state}
            first={first}
            place={place}
            showDiff={showDiff}
            onShowDiff={() => setShowDiff(!showDiff)}
            onGoOn={() => setRun({ goOn: true, number: run.number + 1 })}
            onAgain={() => setRun({ goOn: false, number: run.number + 1 })}
            onExport={() => saveTimeline(`${info.name}-replay`, replayedTimeline(rows, imported.timeline), info)}
          />
          {first && showDiff ? <ChangeList diff={first.diff} /> : null}
        </div>
      </div>
    </section>
  );
}

function ReplayLine({ row, before, judged }: { row: ReplayRow; before: ReplayRow | undefined; judged: boolean }) {
  const { recorded, now, diff } = row;
  const differs = diff.changes.length > 0 && judged;
  return (
    <tr className={differs ? "bad" : now ? "" : "skip-row"}>
      <td className="num mono">{recorded.number}</td>
      <td>
        <Line action={summarizeAction(recorded)} observation={summarizeObservation(recorded, before?.recorded)} />
      </td>
      <td>
        {now ? (
          <>
            <Line
              action={summarizeAction(recorded)}
              observation={summarizeObservation(
                { ...recorded, ...now },
                before && { ...before.recorded, ...before.now },
              )}
            />
            {differs ? <span className="sr"> differs</span> : null}
          </>
        ) : (
          "Not played"
        )}
      </td>
      <td className="num">{recorded.kind === "reset" ? "–" : formatReward(recorded.reward)}</td>
      <td className="num">{now && recorded.kind === "step" ? formatReward(now.reward) : "–"}</td>
    </tr>
  );
}

function Line({ action, observation }: { action: string; observation: string }) {
  return (
    <span className="cmp__line">
      <span className="mono">{action}</span> {observation}
    </span>
  );
}

function ReplayBadge({ state, place }: { state: ReplayState | undefined; place: string }) {
  switch (state?.status) {
    case "equal":
      return <span className="badge badge--ok">Equal</span>;
    case "differs":
      return <span className="badge badge--bad">Differs at {place}</span>;
    case "queued":
      return <span className="badge badge--wait">In the queue</span>;
    case "failed":
      return <span className="badge badge--wait">Stopped</span>;
    default:
      return <span className="badge badge--live">Playing</span>;
  }
}

interface VerdictProps {
  state: ReplayState | undefined;
  first: ReplayRow | undefined;
  /** Describes the position of a step. */
  place: string;
  showDiff: boolean;
  onShowDiff(): void;
  onGoOn(): void;
  onAgain(): void;
  onExport(): void;
}

function Verdict({ state, first, place, showDiff, onShowDiff, onGoOn, onAgain, onExport }: VerdictProps) {
  const again = (
    <>
      <Button look="ghost sm" onClick={onAgain}>
        Replay again
      </Button>
      <Button look="ghost sm" onClick={onExport}>
        Export replay
      </Button>
    </>
  );
  if (state?.status === "equal") {
    return (
      <Notice tone="ok" title="Every step is the same as recorded" actions={again}>
        Observations, rewards and ends are equal.
      </Notice>
    );
  }
  if (state?.status === "failed") {
    return (
      <Notice tone="wait" title="The replay was stopped" actions={again}>
        {state.problem}
      </Notice>
    );
  }
  if (state?.status === "queued") {
    return (
      <Notice tone="wait" title={`The replay is number ${state.place.toLocaleString("en")} in the queue`}>
        It starts by itself. {OWN_PLACE}
      </Notice>
    );
  }
  if (!first || state?.status !== "differs") return null;
  const { recorded, now, diff } = first;
  const paths = diff.changes.slice(0, 3).map(({ path }) => path);
  const goesOn = state.rows.some(({ now: played, recorded: step }) => step.index > recorded.index && played);
  return (
    <Notice
      tone="bad"
      title={`${capitalize(place)} is the first that differs`}
      actions={
        <>
          <Button look="sm" aria-expanded={showDiff} onClick={onShowDiff}>
            {showDiff ? "Hide diff" : "Show diff"}
          </Button>
          {goesOn ? null : (
            <Button look="ghost sm" onClick={onGoOn}>
              Continue anyway
            </Button>
          )}
          {again}
        </>
      }
    >
      The action was the same; <bdi>{paths.join(", ")}</bdi>
      {diff.changes.length > paths.length ? ` and ${diff.changes.length - paths.length} more` : ""}{" "}
      {diff.changes.length === 1 ? "is" : "are"} not
      {now && now.reward !== recorded.reward
        ? `. Reward ${formatReward(recorded.reward)} became ${formatReward(now.reward)}`
        : ""}
      .{" "}
      {goesOn
        ? "Later steps were played but not compared."
        : "The replay stopped here. Later steps cannot be compared."}
      {recorded.kind === "reset" && recorded.action["seed"] === undefined
        ? " The reset was recorded without a seed, so the initial state may differ."
        : ""}
    </Notice>
  );
}

function placeOf({ number, episode, kind }: TimelineStep, { episodes }: Timeline): string {
  const where = episodes.length > 1 ? ` of episode ${episodes[episode]?.number}` : "";
  return kind === "reset" ? `the reset${where}` : `step ${number}${where}`;
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
