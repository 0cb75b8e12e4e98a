import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { Icon } from "../../parts/icon.js";
import { type Chip, chipsOf, joined, withoutChip } from "./terms.js";

interface QueryBarProps {
  q: string;
  chips: readonly Chip[];
  onQuery(q: string): void;
  /** The content before the query, and that after it. */
  start: ReactNode;
  end: ReactNode;
}

/** The id of the field, for the key `/`. */
export const QUERY_FIELD = "find-rollouts";

/** The whole filter as text: its terms are chips, and the one that is written is in the field. */
export function QueryBar({ q, chips, onQuery, start, end }: QueryBarProps) {
  const [typed, setTyped] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const line = useRef<HTMLDivElement>(null);
  // The field stays in sight when chips fill the line.
  useEffect(() => {
    if (q !== "" && line.current) line.current.scrollLeft = line.current.scrollWidth;
  }, [q]);
  const take = (text: string): void => {
    setTyped("");
    onQuery(joined(q, text));
  };
  const onType = (text: string): void => {
    // A space ends a term with a field; words may be more than one.
    const ends = /^\S+:\S+\s$/.test(text) && chipsOf(text).every(({ problem }) => problem === undefined);
    if (ends) take(text);
    else setTyped(text);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>): void => {
    const last = chips.at(-1);
    if (event.key === "Enter" && typed.trim() !== "") take(typed);
    else if (event.key === "Backspace" && typed === "" && last) onQuery(withoutChip(q, last));
    else if (event.key === "Escape") event.currentTarget.blur();
    else return;
    event.preventDefault();
  };
  const remove = (chip: Chip): void => {
    onQuery(withoutChip(q, chip));
    field.current?.focus();
  };
  const wrong = chips.filter(({ problem }) => problem !== undefined);
  return (
    <search className="query">
      {start}
      <div className="field-q" ref={line}>
        <Icon name="search" />
        {chips.map((chip) => (
          <Term
            key={`${chip.start} ${chip.text}`}
            chip={chip}
            onEdit={() => {
              setTyped(joined(chip.text, typed));
              remove(chip);
            }}
            onRemove={() => remove(chip)}
          />
        ))}
        <input
          ref={field}
          id={QUERY_FIELD}
          type="text"
          enterKeyHint="search"
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          value={typed}
          placeholder={chips.length === 0 ? 'reward:<0.2 tool:search "money back"' : "and"}
          aria-label="Search rollouts"
          aria-invalid={wrong.length > 0 ? true : undefined}
          aria-describedby={wrong.length > 0 ? `${QUERY_FIELD}-wrong` : undefined}
          onChange={({ target }) => onType(target.value)}
          onKeyDown={onKeyDown}
        />
        <kbd>/</kbd>
      </div>
      {end}
      {wrong.length > 0 ? (
        <p className="err" id={`${QUERY_FIELD}-wrong`} role="alert">
          {wrong.map(({ start, text, problem }) => (
            <span key={start}>
              <code>{text}</code> {problem}{" "}
            </span>
          ))}
          The rows match the other terms.
        </p>
      ) : null}
    </search>
  );
}

function Term({ chip, onEdit, onRemove }: { chip: Chip; onEdit(): void; onRemove(): void }) {
  const { text, label, problem } = chip;
  return (
    <span className={`chip ${problem === undefined ? "" : "chip--bad"}`}>
      <button type="button" className="chip__text" title={text} onClick={onEdit}>
        <span className="sr">{problem === undefined ? "Change " : "Invalid: change "}</span>
        {label}
      </button>
      <button type="button" className="chip__close" aria-label={`Remove ${label}`} onClick={onRemove}>
        <Icon name="close" />
      </button>
    </span>
  );
}
