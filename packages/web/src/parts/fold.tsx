import { type ReactNode, useState } from "react";
import { Icon } from "./icon.js";

/** Content that is drawn when it is opened. */
export function Fold({ label, children }: { label: ReactNode; children: ReactNode }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="more" aria-expanded={open} onClick={() => setOpen(!open)}>
        {label}
        <Icon name={open ? "up" : "down"} />
      </button>
      {open ? children : null}
    </>
  );
}
