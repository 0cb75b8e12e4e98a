import type { RolloutOutcome } from "openenv-ts/protocol";

const OUTCOMES: Record<RolloutOutcome, { words: string; dot: string }> = {
  stuck: { words: "Stuck in a call", dot: "dot--wait" },
  running: { words: "Running", dot: "dot--ring" },
  failed: { words: "Failed", dot: "dot--bad" },
  done: { words: "Done", dot: "dot--full" },
  truncated: { words: "Truncated", dot: "dot--half" },
  cut: { words: "Client left", dot: "dot--half" },
  incomplete: { words: "Recorded in part", dot: "dot--ring" },
};

export function outcomeInWords(outcome: RolloutOutcome): string {
  return OUTCOMES[outcome].words;
}

export function isOver({ outcome }: { outcome: RolloutOutcome }): boolean {
  return outcome !== "running" && outcome !== "stuck";
}

/** Distinguishable without color. */
export function OutcomeDot({ outcome, silent = false }: { outcome: RolloutOutcome; silent?: boolean }) {
  const { words, dot } = OUTCOMES[outcome];
  return (
    <span className={`dot ${dot}`} title={silent ? undefined : words}>
      {silent ? null : <span className="sr">{words}</span>}
    </span>
  );
}
