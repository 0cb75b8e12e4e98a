import type { JsonObject } from "openenv-ts/protocol";
import { describeValue, Value } from "../../../parts/value/value.js";
import type { TimelineStep } from "../../../play/timeline.js";

interface FieldsProps {
  values: JsonObject;
  /** Said when there is nothing. */
  none: string;
  step: TimelineStep;
}

/** One line a field: its name, and its value as what it is. */
export function Fields({ values, none, step }: FieldsProps) {
  const entries = Object.entries(values);
  if (entries.length === 0) return none === "" ? null : <p className="hint rows__none">{none}</p>;
  return (
    <dl className="rows">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>
            {name}
            <small>{describeValue(value)}</small>
          </dt>
          <dd>
            <Value value={value} label={`Field ${name} of step ${step.number}`} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
