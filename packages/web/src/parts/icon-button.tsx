import type { ButtonHTMLAttributes } from "react";
import { Icon, type IconName } from "./icon.js";

interface IconButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  icon: IconName;
  /** What it does, for those who see no drawing and for those who wonder. */
  label: string;
}

export function IconButton({ icon, label, className = "", ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      className={`btn btn--ghost btn--icon btn--sm ${className}`}
      aria-label={label}
      title={label}
      {...rest}
    >
      <Icon name={icon} />
    </button>
  );
}
