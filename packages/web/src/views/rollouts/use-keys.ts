import { type RefObject, useEffect, useRef } from "react";
import { isField, singleKeysOn } from "../play/shortcuts.js";

/** Keys of the view outside of fields, by their name; those without Ctrl, Alt or Meta. With an element, only inside it. */
export function useKeys(keys: Record<string, () => void>, within?: RefObject<HTMLElement | null>): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !singleKeysOn()) return;
      if (isField(event.target) || document.querySelector("dialog[open]")) return;
      if (within && !(event.target instanceof Node && within.current?.contains(event.target))) return;
      // There, arrows choose or scroll.
      const isArrow = event.key.startsWith("Arrow") && event.target instanceof Element;
      if (isArrow && (event.target as Element).closest("input, .code, .table-wrap")) return;
      const act = latest.current[event.key];
      // Enter belongs to the button or link that has the focus.
      const isControl = event.target instanceof Element && event.target.closest("a, button, [role=slider]");
      if (!act || (event.key === "Enter" && isControl)) return;
      event.preventDefault();
      act();
    };
    // A pane comes before the view around it.
    addEventListener("keydown", onKey, within !== undefined);
    return () => removeEventListener("keydown", onKey, within !== undefined);
  }, [within]);
}
