import type { EnumOptionsType, WidgetProps } from "@rjsf/utils";
import { Icon } from "../parts/icon.js";

interface ChoicesProps extends WidgetProps {
  choices: readonly EnumOptionsType[];
}

/** Several of a few values, each at most once. */
export function Checks({ id, value, choices, disabled, readonly, onChange, onBlur }: ChoicesProps) {
  const chosen: unknown[] = Array.isArray(value) ? value : [];
  return (
    <div className="checks" id={id} onBlur={() => onBlur(id, value)}>
      {choices.map((choice, at) => (
        <label className="check" key={JSON.stringify(choice.value)}>
          <input
            type="checkbox"
            id={`${id}-${at}`}
            disabled={disabled || readonly}
            checked={chosen.some((item) => same(item, choice.value))}
            onChange={({ target }) =>
              onChange(target.checked ? [...chosen, choice.value] : chosen.filter((item) => !same(item, choice.value)))
            }
          />
          {choice.label}
        </label>
      ))}
    </div>
  );
}

/** A sequence of a few values, such as moves: they may repeat, and their order counts. */
export function Sequence({ id, value, choices, disabled, readonly, onChange, onBlur }: ChoicesProps) {
  const items: unknown[] = Array.isArray(value) ? value : [];
  const labelOf = (item: unknown): string =>
    choices.find((choice) => same(choice.value, item))?.label ?? JSON.stringify(item);
  return (
    <div className="sequence" id={id} onBlur={() => onBlur(id, value)}>
      {items.length > 0 ? (
        <ol>
          {items.map((item, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: equal items differ only by their place
            <li key={at}>
              <button
                type="button"
                className="btn btn--sm"
                aria-label={`Remove item ${at + 1}, ${labelOf(item)}`}
                disabled={disabled || readonly}
                onClick={() => onChange(items.toSpliced(at, 1))}
              >
                {labelOf(item)}
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ol>
      ) : null}
      <div className="sequence__add">
        {choices.map((choice) => (
          <button
            key={JSON.stringify(choice.value)}
            type="button"
            className="btn btn--ghost btn--sm"
            aria-label={`Add ${choice.label}`}
            disabled={disabled || readonly}
            onClick={() => onChange([...items, choice.value])}
          >
            <Icon name="plus" />
            {choice.label}
          </button>
        ))}
      </div>
    </div>
  );
}

/** Compares values of an enum. */
export function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
