/** The keyboard of a touch screen has no Shift+Enter and no Ctrl+Enter. Read once: a form has many fields. */
export const isTouch = matchMedia("(pointer: coarse)").matches;

interface EnterHintProps {
  id: string;
  /** Enter alone sends, where there is a key for a line; otherwise it adds a line. */
  sends?: boolean;
}

/** What Enter does in a text, shown while it is written. */
export function EnterHint({ id, sends = false }: EnterHintProps) {
  return (
    <span className={`hint keys--typing ${isTouch ? "" : "keys"}`} id={id}>
      {isTouch
        ? "Enter adds a line, the button sends"
        : sends
          ? "Enter sends, Shift+Enter adds a line"
          : "Enter adds a line, Ctrl+Enter sends"}
    </span>
  );
}
