import { useState } from "react";
import { navigate, useRoute } from "../../app/router.js";
import { Transcript } from "./transcript/transcript.js";

interface TranscriptPaneProps {
  id: string;
  step: number | null;
  /** The address of the table, for an episode on a page of its own. */
  back: string | null;
}

/** One episode: next to the table, which is in the address, or as a page, of which the step is in the address. */
export function TranscriptPane({ id, step, back }: TranscriptPaneProps) {
  const route = useRoute();
  const [selected, setSelected] = useState<number | null>(null);
  const toStep = (to: number): void => {
    if (back === null) setSelected(to);
    else if (route.view === "rollouts") navigate({ ...route, step: to }, { replace: true });
  };
  return <Transcript key={id} id={id} step={back === null ? selected : step} onStep={toStep} back={back} />;
}
