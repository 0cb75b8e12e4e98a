import { useState } from "react";
import { IconButton } from "../icon-button.js";
import { copyText } from "./copy-text.js";

/** The time that the button shows its success, in milliseconds. */
const SHOWN_MS = 2000;

interface CopyButtonProps {
  /** A short name of the copied content: "action". */
  what: string;
  /** Called on click. */
  text(): string;
}

export function CopyButton({ what, text }: CopyButtonProps) {
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    if (!(await copyText(text()))) return;
    setCopied(true);
    setTimeout(() => setCopied(false), SHOWN_MS);
  };
  return (
    <IconButton
      icon={copied ? "check" : "copy"}
      label={copied ? "Copied" : `Copy ${what}`}
      onClick={() => void copy()}
    />
  );
}
