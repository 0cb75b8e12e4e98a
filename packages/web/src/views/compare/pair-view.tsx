import type { EpisodeRow, RolloutEvent } from "openenv-ts/protocol";
import { memo, type ReactNode } from "react";
import { hasAnsi } from "../../parts/value/ansi.js";
import { ChangeList, cutCommon, Words } from "../../parts/value/changes.js";
import { pictureOf, soundOf } from "../../parts/value/picture.js";
import { textKindOf } from "../../parts/value/rendering.js";
import { isOver, outcomeInWords } from "../rollouts/outcome.js";
import { CallLine, Content, type Draw, drawValue, Said } from "../rollouts/transcript/turn.js";
import { partsOf, type TurnParts } from "../rollouts/transcript/turn-parts.js";
import type { Pair } from "./align.js";

interface PairViewProps {
  pair: Pair;
  before: Pair | undefined;
  a: EpisodeRow;
  b: EpisodeRow;
  /** The paths that differ are listed below. */
  showsFields: boolean;
}

/** A step of two episodes side by side, with the words that differ marked. */
export const PairView = memo(function PairView({ pair, before, a, b, showsFields }: PairViewProps) {
  const [left, right] = [partsIn(pair.a, before?.a), partsIn(pair.b, before?.b)];
  return (
    <>
      <div className="sides">
        <Cell side="a" row={a} event={pair.a} parts={left} others={right} />
        <Cell side="b" row={b} event={pair.b} parts={right} others={left} />
      </div>
      {showsFields && pair.diff && pair.diff.changes.length > 0 ? (
        <div className="pad">
          <ChangeList diff={pair.diff} sides={["A", "B"]} />
        </div>
      ) : null}
    </>
  );
});

function partsIn(event: RolloutEvent | undefined, before: RolloutEvent | undefined): TurnParts | undefined {
  return event && partsOf(event, before);
}

/** The letter of a side: A filled, B outlined. */
export function SideMark({ side }: { side: "a" | "b" }) {
  return <span className={`ab ab--${side}`}>{side.toUpperCase()}</span>;
}

interface CellProps {
  side: "a" | "b";
  row: EpisodeRow;
  event: RolloutEvent | undefined;
  parts: TurnParts | undefined;
  others: TurnParts | undefined;
}

function Cell({ side, row, event, parts, others }: CellProps) {
  if (!event || !parts) {
    return (
      <div className="cellx">
        <p className="call">
          <SideMark side={side} /> <span className="muted">{endInWords(row)}</span>
        </p>
      </div>
    );
  }
  const draw: Draw = (name, value, form) => {
    const other = valueIn(others, name);
    if (typeof value === "string" && typeof other === "string" && value !== other && isPlain(value) && isPlain(other)) {
      const words = side === "a" ? cutCommon(value, other) : cutCommon(other, value);
      return (
        <span className="think">
          <Words words={words} side={side} />
        </span>
      );
    }
    return drawValue(value, `${name} of step ${event.event} of ${side.toUpperCase()}`, form);
  };
  return (
    <div className={`cellx cellx--${side}`}>
      <CallLine event={event} title={parts.title}>
        <SideMark side={side} />
      </CallLine>
      <Said texts={parts.said} draw={draw} />
      <Content event={event} parts={parts} draw={draw} />
      {event.answer?.done ? (
        <div className="also">
          <span className="badge">Done</span>
        </div>
      ) : null}
    </div>
  );
}

function valueIn(parts: TurnParts | undefined, name: string): unknown {
  if (!parts) return undefined;
  if (name.startsWith("said ")) return parts.said[Number(name.slice(5))];
  return [...parts.short, ...parts.long, ...parts.result, ...parts.same].find(([key]) => key === name)?.[1];
}

/** Other text has a form, in which words cannot be marked. */
function isPlain(text: string): boolean {
  return !pictureOf(text) && !soundOf(text) && !hasAnsi(text) && textKindOf(text) === "text";
}

export function endInWords(row: EpisodeRow): ReactNode {
  const words = outcomeInWords(row.outcome).toLowerCase();
  return isOver(row) ? `ended with step ${row.steps}: ${words}` : `is at step ${row.steps} (${words})`;
}
