/** A touch keyboard has no Shift+Enter and no Ctrl+Enter. Read once, because a form has many fields. */
export const isTouch = matchMedia("(pointer: coarse)").matches;

interface EnterHintProps {
  id: string;
  /** Enter sends if the keyboard has another key for a new line; otherwise it adds a line. */
  sends?: boolean;
}

/** A hint about Enter, shown while a text field is edited. */
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
