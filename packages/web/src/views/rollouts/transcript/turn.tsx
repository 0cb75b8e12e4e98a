import type { RolloutDetail, RolloutEvent } from "openenv-ts/protocol";
import { Fragment, memo, type ReactNode } from "react";
import { hrefOf, ROLLOUTS } from "../../../app/router.js";
import { Fold } from "../../../parts/fold.js";
import { SignedBars } from "../../../parts/signed-bars.js";
import { count, formatMs, formatReward, stepInWords } from "../../../parts/text/format.js";
import { ViewParts } from "../../../parts/text/marked-text.js";
import { ChangeList } from "../../../parts/value/changes.js";
import { Json } from "../../../parts/value/json.js";
import { Value } from "../../../parts/value/value.js";
import { queryOf } from "../terms.js";
import { diffEvents, partsOf, type TurnParts } from "./turn-parts.js";

export type TurnMode = "step" | "diff" | "raw";
/** Draws a value of a turn: inside a line, as written by a program, or for reading. A comparison marks what differs. */
export type Draw = (name: string, value: unknown, form: "line" | "code" | "prose") => ReactNode;

export interface TurnProps {
  id: string;
  event: RolloutEvent;
  before: RolloutEvent | undefined;
  mode: TurnMode;
  /** The episodes that fail like this one, at its last error. */
  like: ReactNode;
}

/** One step of a transcript: what was said, called, returned and earned. An event never changes. */
export const Turn = memo(function Turn({ id, event, before, mode, like }: TurnProps) {
  if (mode === "raw") return <Json value={event} />;
  const parts = partsOf(event, before);
  const draw: Draw = (name, value, form) => drawValue(value, `${name} of step ${event.event}`, form);
  return (
    <>
      <Said texts={parts.said} draw={draw} />
      <CallLine event={event} title={parts.title} />
      {mode === "diff" ? (
        <Changes event={event} before={before} />
      ) : (
        <Content event={event} parts={parts} draw={draw} />
      )}
      <Also id={id} event={event} like={like} />
    </>
  );
});

export function Said({ texts, draw }: { texts: readonly string[]; draw: Draw }) {
  return texts.map((text, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: texts have no names
    <div key={at} className="say">
      {draw(`said ${at}`, text, "prose")}
    </div>
  ));
}

export function drawValue(value: unknown, label: string, form: Parameters<Draw>[2]): ReactNode {
  return form === "line" ? <bdi>{String(value)}</bdi> : <Value value={value} label={label} prose={form === "prose"} />;
}

/** The tool or the action, its time and its reward. */
export function CallLine({ event, title, children }: { event: RolloutEvent; title: string; children?: ReactNode }) {
  const { error, ms, type, reward } = event;
  return (
    <div className="call">
      {children}
      <b className="clip" title={title}>
        <bdi>{title}</bdi>
      </b>
      <span className="ms">{formatMs(ms)}</span>
      <span className="rw">
        {error ? <b className="tone--negative">Failed </b> : null}
        {type === "reset" && !reward ? "–" : formatReward(reward, "–")}
      </span>
    </div>
  );
}

/** The arguments, and the answer: the author's view first, with the fields behind it. */
export function Content({ event, parts, draw }: { event: RolloutEvent; parts: TurnParts; draw: Draw }) {
  const { view, error, request, answer } = event;
  const { short, long, result, same } = parts;
  const hasView = view !== null && view.parts.length > 0;
  const all = [...result, ...same];
  return (
    <>
      {short.length > 0 ? (
        <div className="args">
          {short.map(([name, value]) => (
            <span key={name}>
              <i>{name}</i> {draw(name, value, "line")}
            </span>
          ))}
        </div>
      ) : null}
      <Named fields={long} draw={draw} form="code" />
      {error ? (
        <div className="res res--bad">
          <b>{error.code}</b> <bdi>{error.message}</bdi>
        </div>
      ) : null}
      {hasView ? <ViewParts parts={view.parts} /> : null}
      {hasView && all.length > 0 ? (
        <Fold label={count(all.length, "field")}>
          <Result fields={all} draw={draw} />
        </Fold>
      ) : null}
      {hasView ? null : <Result fields={result} draw={draw} />}
      {hasView || same.length === 0 ? null : (
        <Fold label={count(same.length, "unchanged field")}>
          <Result fields={same} draw={draw} />
        </Fold>
      )}
      {request === null && answer === null && !error ? <p className="hint">Its contents were not recorded.</p> : null}
    </>
  );
}

function Result({ fields, draw }: { fields: TurnParts["result"]; draw: Draw }) {
  const [only] = fields;
  if (!only) return null;
  return (
    <div className="res">
      {fields.length === 1 ? draw(...only, "prose") : <Named fields={fields} draw={draw} form="prose" />}
    </div>
  );
}

function Named({ fields, draw, form }: { fields: TurnParts["result"]; draw: Draw; form: "code" | "prose" }) {
  if (fields.length === 0) return null;
  return (
    <dl className="named">
      {fields.map(([name, value]) => (
        <Fragment key={name}>
          <dt>
            <bdi>{name}</bdi>
          </dt>
          <dd>{draw(name, value, form)}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

function Changes({ event, before }: { event: RolloutEvent; before: RolloutEvent | undefined }) {
  if (!before) return <p className="hint">There is no earlier step to compare it with.</p>;
  const diff = diffEvents(before, event);
  return diff.changes.length > 0 ? <ChangeList diff={diff} /> : <p className="hint">Nothing changed.</p>;
}

function Also({ id, event, like }: { id: string; event: RolloutEvent; like: ReactNode }) {
  const { sameAs, components, answer, reward } = event;
  const parts = Object.entries(components ?? {});
  if (sameAs === null && !answer?.done && parts.length === 0 && !like) return null;
  return (
    <div className="also">
      {answer?.done ? <span className="badge">Done</span> : null}
      {sameAs === null ? null : (
        <a href={hrefOf({ ...ROLLOUTS, id, step: sameAs })}>Same call as {stepInWords(sameAs)}</a>
      )}
      {like}
      {parts.length > 0 ? (
        <Fold label={`Reward of ${count(parts.length, "part")}`}>
          <SignedBars parts={parts} total={reward} />
        </Fold>
      ) : null}
    </div>
  );
}

/** A link to the episodes of the run that have the same error. */
export function Similar({ detail }: { detail: Omit<RolloutDetail, "events"> }) {
  const { similar, episode } = detail;
  if (!episode.error || similar < 2) return null;
  const q = queryOf({ run: episode.run, error: episode.error.key });
  return (
    <>
      <span>
        {similar.toLocaleString("en")} episodes {episode.run === null ? "" : "of this run "}fail like this
      </span>
      <a href={hrefOf({ ...ROLLOUTS, q })}>Show them</a>
    </>
  );
}
