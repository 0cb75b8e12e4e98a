import type { RolloutDetail, RolloutEvent } from "openenv-ts/protocol";
import { Fragment, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { hrefOf, ROLLOUTS } from "../../../app/router.js";
import { Retry } from "../../../parts/button.js";
import { Icon } from "../../../parts/icon.js";
import { IconButton } from "../../../parts/icon-button.js";
import { Boundary } from "../../../parts/loading/boundary.js";
import { Loading } from "../../../parts/loading/loading.js";
import { Notice } from "../../../parts/notice.js";
import { Segments } from "../../../parts/segments.js";
import { SignedBars } from "../../../parts/signed-bars.js";
import { CopyButton } from "../../../parts/text/copy-button.js";
import { count, formatClock, stepInWords } from "../../../parts/text/format.js";
import { TokenForm } from "../../../parts/token-form.js";
import { VirtualList } from "../../../parts/virtual-list.js";
import { factsOf } from "../facts.js";
import { outcomeInWords } from "../outcome.js";
import { data } from "../rollouts-data.js";
import "../../../styles/transcript.css";
import { useKeys } from "../use-keys.js";
import { Rollout } from "./rollout.js";
import { StepValues } from "./step-values.js";
import { Similar, Turn, type TurnMode, type TurnProps } from "./turn.js";

interface TranscriptProps {
  id: string;
  /** The selected step; null for none. */
  step: number | null;
  onStep(step: number): void;
  /** The address of the table, for a page of its own; null for a pane next to it, whose keys work where the focus is. */
  back: string | null;
}

/** What was said, called, returned and earned in one episode, by step. Only the steps in sight are loaded and drawn. */
export function Transcript({ id, step, onStep, back }: TranscriptProps) {
  const isPage = back !== null;
  const rollout = useMemo(() => new Rollout(id), [id]);
  const { detail, events, problem, refused } = useSyncExternalStore(rollout.subscribe, rollout.snapshot);
  const [mode, setMode] = useState<TurnMode>("step");
  const pane = useRef<HTMLElement>(null);
  const last = events.length - 1;
  const selected = step === null ? null : Math.min(step, last);
  // The steps of the address come first.
  useEffect(() => void rollout.need(step ?? 0, step ?? 0), [rollout, step]);
  const go = (to: number): void => {
    if (last >= 0) onStep(Math.max(0, Math.min(last, to)));
  };
  const [next, previous] = [() => go((selected ?? -1) + 1), () => go((selected ?? 1) - 1)];
  const keys = {
    j: next,
    k: previous,
    g: () => go(0),
    G: () => go(last),
    "1": () => setMode("step"),
    "2": () => setMode("diff"),
    "3": () => setMode("raw"),
  };
  useKeys(keys, isPage ? undefined : pane);
  const lastError = events.findLastIndex((event) => event !== undefined && event.error !== null);
  const failure = problem ? <ReadProblem message={problem} refused={refused} onRetry={() => rollout.retry()} /> : null;
  if (!detail) return failure ?? <Loading what="the transcript" />;
  return (
    <section ref={pane} className={`tr ${isPage ? "tr--page" : ""}`} aria-label={`Transcript of ${id}`}>
      {failure}
      <VirtualList
        count={events.length}
        label="Transcript, scrolls"
        selected={selected}
        isReady={selected !== null && events[selected] !== undefined}
        estimate={mode === "raw" ? 320 : 112}
        onRange={(from, to) => void rollout.need(from, to)}
        subject={`${id} ${mode}`}
        head={
          <Head
            detail={detail}
            mode={mode}
            onMode={setMode}
            onNext={next}
            onPrevious={previous}
            step={selected}
            back={back}
          />
        }
        itemClass="turn"
      >
        {(at) => (
          <NumberedTurn
            id={id}
            at={at}
            event={events[at]}
            before={events[at - 1]}
            mode={mode}
            like={at === lastError ? <Similar detail={detail} /> : null}
          />
        )}
      </VirtualList>
    </section>
  );
}

interface NumberedTurnProps extends Omit<TurnProps, "event"> {
  at: number;
  /** Undefined while it loads. */
  event: RolloutEvent | undefined;
}

function NumberedTurn({ at, event, ...turn }: NumberedTurnProps) {
  const { id, mode } = turn;
  return (
    <>
      <a className="no" href={hrefOf({ ...ROLLOUTS, id, step: at })} aria-label={`Step ${at}`} tabIndex={-1}>
        {at}
      </a>
      <div className="body">
        {event ? (
          <Boundary what={`Step ${at}`} subject={`${id} ${mode}`}>
            <Turn event={event} {...turn} />
          </Boundary>
        ) : (
          <div className="skel" />
        )}
      </div>
    </>
  );
}

interface HeadProps {
  detail: Omit<RolloutDetail, "events">;
  mode: TurnMode;
  step: number | null;
  back: string | null;
  onMode(mode: TurnMode): void;
  onNext(): void;
  onPrevious(): void;
}

function Head({ detail, mode, step, back, onMode, onNext, onPrevious }: HeadProps) {
  const { episode, components, complete } = detail;
  const { id, outcome, steps, duration, reward, parent } = episode;
  const parts = Object.entries(components);
  const isRunning = outcome === "running" || outcome === "stuck";
  return (
    <header className="tr__head">
      <div className="top">
        {back === null ? null : (
          <a className="btn btn--ghost btn--sm flush" href={back} aria-label="Back to Rollouts">
            <Icon name="left" />
            <span className="hide-sm">Rollouts</span>
          </a>
        )}
        <h2>{back === null ? <a href={hrefOf({ ...ROLLOUTS, id, step })}>{id}</a> : id}</h2>
        <span className={`badge ${BADGES[outcome] ?? ""}`}>{outcomeInWords(outcome)}</span>
        <span className="muted nowrap">
          {count(steps, "step")}, {formatClock(duration)}
        </span>
        <span className="end">
          <CopyButton what="link" text={() => location.href.replace(/#.*/s, "") + hrefOf({ ...ROLLOUTS, id, step })} />
          <IconButton icon="up" label="Previous step (K)" onClick={onPrevious} />
          <IconButton icon="down" label="Next step (J)" onClick={onNext} />
        </span>
      </div>
      <p className="muted tr__facts">
        {factsOf(episode).map((fact, at) => (
          <Fragment key={fact}>
            {at > 0 ? ", " : ""}
            <bdi>{fact}</bdi>
          </Fragment>
        ))}
        {parent ? (
          <>
            {" "}
            copy of <a href={hrefOf({ ...ROLLOUTS, id: parent.id, step: parent.step })}>{parent.id}</a> after step{" "}
            {parent.step}
          </>
        ) : null}
      </p>
      {parts.length > 0 || reward !== null ? <SignedBars parts={parts} total={reward} /> : null}
      {complete ? <StepValues id={id} step={step} /> : null}
      {complete || isRunning ? null : (
        <Notice tone="wait" title="A part of this episode was not recorded">
          Its steps may have gaps, and its reward may be incomplete.
        </Notice>
      )}
      <div className="tr__acts">
        <Segments
          label="Form of the steps"
          options={[
            { name: "step", label: "Rendered" },
            { name: "diff", label: "Changes" },
            { name: "raw", label: "Raw" },
          ]}
          selected={mode}
          onSelect={onMode}
        />
        {step === null || isRunning ? null : (
          <a className="btn btn--sm" href={hrefOf({ view: "play", from: id, step })}>
            Play on from {stepInWords(step)}
          </a>
        )}
        <span className="keys">
          <kbd>J</kbd> <kbd>K</kbd> step <kbd>1</kbd> <kbd>2</kbd> <kbd>3</kbd> form
        </span>
      </div>
    </header>
  );
}

const BADGES: Partial<Record<RolloutDetail["episode"]["outcome"], string>> = {
  stuck: "badge--wait",
  running: "badge--live",
  failed: "badge--bad",
};

interface ReadProblemProps {
  message: string;
  refused: boolean;
  onRetry(): void;
}

export function ReadProblem({ message, refused, onRetry }: ReadProblemProps) {
  const takeToken = (token: string): void => {
    data.open(token);
    onRetry();
  };
  return (
    <div className="pad">
      <Notice tone="bad" title="The episode could not be read" actions={<Retry onClick={onRetry} />}>
        {message}
      </Notice>
      {refused ? <TokenForm label="Token" problem={null} onToken={takeToken} /> : null}
    </div>
  );
}
