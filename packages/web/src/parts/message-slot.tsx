import { Icon } from "./icon.js";

interface MessageSlotProps {
  /** Id of the field; the id of the message is `<id>__error`. */
  id: string;
  /** The error message, if any. */
  children: string | undefined;
  /**
   * The message of a group is in its title row, that of a form in the gap before its button; a tall one has two lines.
   */
  kind?: "field" | "group" | "form" | "tall";
  /** The message is announced when it appears. */
  announced?: boolean;
}

/** The error line below a field. It takes space without a message, too, so that the layout does not shift. */
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
