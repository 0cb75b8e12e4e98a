import { useState } from "react";
import { Button } from "../../parts/button.js";
import { Icon } from "../../parts/icon.js";
import { copyText } from "../../parts/text/copy-text.js";

/** The time that the button shows the outcome, in milliseconds. */
const SHOWN_MS = 2000;

interface CopyTextProps {
  text: string;
  label: string;
  quiet?: boolean;
}

/** A copy button with a text label that shows the outcome. */
export function CopyText({ text, label, quiet = false }: CopyTextProps) {
  const [outcome, setOutcome] = useState<"copied" | "refused">();
  const copy = async (): Promise<void> => {
    setOutcome((await copyText(text)) ? "copied" : "refused");
    setTimeout(() => setOutcome(undefined), SHOWN_MS);
  };
  const words = outcome === "copied" ? "Copied" : outcome === "refused" ? "Not allowed" : label;
  return (
    <>
      <Button look={quiet ? "ghost sm" : "sm"} onClick={() => void copy()}>
        <Icon name={outcome === "copied" ? "check" : "copy"} />
        {words}
      </Button>
      <span className="sr" role="status">
        {outcome === undefined ? "" : words}
      </span>
    </>
  );
}
