import { Icon } from "./icon.js";

interface MessageSlotProps {
  /** Of the field; the message is `<id>__error`. */
  id: string;
  /** What is wrong, or nothing. */
  children: string | undefined;
  /** The message of a group stands in its title row, that of a form in the gap before its button; a tall one has two lines. */
  kind?: "field" | "group" | "form" | "tall";
  /** The message is announced when it appears. */
  announced?: boolean;
}

/** The line below a field for what is wrong with it: it is there without a message too, so that nothing moves. */
export function MessageSlot({ id, children, kind = "field", announced = false }: MessageSlotProps) {
  return (
    <div className={`slot slot--${kind}`}>
      {children ? (
        <p className="err" id={`${id}__error`} role={announced ? "alert" : undefined}>
          <Icon name="alert" />
          <span>{children}</span>
        </p>
      ) : null}
    </div>
  );
}
