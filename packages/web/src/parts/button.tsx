import type { ComponentProps } from "react";

interface ButtonProps extends Omit<ComponentProps<"button">, "type"> {
  /** The variants of the style sheet, such as `ghost sm`. */
  look?: string;
  /** A button that is not free keeps the focus, and does nothing. */
  free?: boolean;
}

/** A button with text. */
export function Button({ look = "", className = "", free = true, onClick, ...others }: ButtonProps) {
  return (
    <button
      type="button"
      className={`btn ${look.replace(/\S+/g, "btn--$&")} ${className}`}
      aria-disabled={free ? undefined : true}
      onClick={free ? onClick : undefined}
      {...others}
    />
  );
}

export function Retry({ onClick }: { onClick(): void }) {
  return (
    <Button look="sm" onClick={onClick}>
      Try again
    </Button>
  );
}
