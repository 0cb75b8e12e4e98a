import type { JsonObject } from "openenv-ts/protocol";
import { describeValue, Value } from "../../../parts/value/value.js";
import type { TimelineStep } from "../../../play/timeline.js";

interface FieldsProps {
  values: JsonObject;
  /** Text for no fields. */
  none: string;
  step: TimelineStep;
}

/** One row per field: its name and its value. */
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
