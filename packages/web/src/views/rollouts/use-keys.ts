import { useEffect, useRef } from "react";
import { isField, singleKeysOn } from "../play/shortcuts.js";

/** Keys of the view outside of fields, by their name; those without Ctrl, Alt or Meta. */
export function useKeys(keys: Record<string, () => void>): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !singleKeysOn()) return;
      if (isField(event.target) || document.querySelector("dialog[open]")) return;
      const act = latest.current[event.key];
      // Enter belongs to the button or link that has the focus.
      const isControl = event.target instanceof Element && event.target.closest("a, button, [role=slider]");
      if (!act || (event.key === "Enter" && isControl)) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}
