import { Fragment, useId } from "react";

interface SegmentsProps<Name extends string> {
  label: string;
  options: readonly { name: NoInfer<Name>; label: string }[];
  selected: Name;
  onSelect(name: NoInfer<Name>): void;
}

/** A switch between a few ways to see the same thing. */
export function Segments<Name extends string>({ label, options, selected, onSelect }: SegmentsProps<Name>) {
  const id = useId();
  return (
    <div className="seg" role="radiogroup" aria-label={label}>
      {options.map((option) => (
        <Fragment key={option.name}>
          <input
            className="sr"
            type="radio"
            name={id}
            id={`${id}${option.name}`}
            checked={option.name === selected}
            onChange={() => onSelect(option.name)}
          />
          <label htmlFor={`${id}${option.name}`}>{option.label}</label>
        </Fragment>
      ))}
    </div>
  );
}
