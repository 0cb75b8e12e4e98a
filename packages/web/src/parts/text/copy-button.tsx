import { useState } from "react";
import { IconButton } from "../icon-button.js";
import { copyText } from "./copy-text.js";

/** How long the button says that it worked, milliseconds. */
const SHOWN_MS = 2000;

interface CopyButtonProps {
  /** What is copied, in a word or two: "action". */
  what: string;
  /** Asked when it is clicked. */
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
