import { type ReactNode, useEffect, useRef, useState } from "react";
import { IconButton } from "./icon-button.js";

/** A few buttons behind one; a click elsewhere and Esc close it. */
export function Menu({ label, className, children }: { label: string; className?: string; children: ReactNode }) {
  const [open, setOpen] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    const close = (event: Event): void => {
      const isKey = event instanceof KeyboardEvent;
      if (isKey ? event.key !== "Escape" : place.current?.contains(event.target as Node)) return;
      setOpen(false);
      if (isKey) place.current?.querySelector("button")?.focus();
    };
    addEventListener("pointerdown", close);
    addEventListener("keydown", close);
    return () => {
      removeEventListener("pointerdown", close);
      removeEventListener("keydown", close);
    };
  }, [open]);
  return (
    <div className={`menu ${className ?? ""}`} ref={place}>
      <IconButton icon="more" label={label} aria-expanded={open} onClick={() => setOpen(!open)} />
      {open ? (
        <div className="menu__panel" onClick={() => setOpen(false)}>
          {children}
        </div>
      ) : null}
    </div>
  );
}
