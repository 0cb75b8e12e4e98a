import { useEffect, useState, useSyncExternalStore } from "react";
import { Segments } from "../../parts/segments.js";
import type { Imported } from "../../play/play.js";
import type { Step } from "../../play/timeline.js";
import type { ViewProps } from "../../views.js";
import { ActionPane } from "./action-pane.js";
import { Announcer } from "./announcer.js";
import { ConnectionNotice } from "./connection-notice.js";
import { EpisodeBar } from "./episode-bar.js";
import { ImportedNotice } from "./imported-notice.js";
import { ReplayPane } from "./replay-pane.js";
import { useShortcuts } from "./shortcuts.js";
import { StatePane } from "./state-pane.js";
import { StepPane } from "./step-pane.js";
import { TimelinePane } from "./timeline-pane.js";
import { ToolList } from "./tool-list.js";
import { useDraft } from "./use-draft.js";
import { useFiles } from "./use-files.js";

type Part = "step" | "timeline" | "state";

/** Act on the left, what came back in the middle, what happened so far on the right. */
export function PlayView({ info, play, schema }: ViewProps) {
  const shown = useSyncExternalStore(play.subscribe, play.snapshot);
  const tools = schema.value?.tools ?? [];
  const draft = useDraft(info, schema.value);
  const [part, setPart] = useState<Part>("step");
  const [replayed, setReplayed] = useState<Imported>();
  // Another file is only shown.
  const replaying = replayed !== undefined && replayed === shown.imported;
  const files = useFiles(info, play, shown);
  useShortcuts(play, files, () => !document.getElementById("main")?.closest("[hidden]"));
  useScrollToAnswer(shown.timeline.steps.length, setPart);
  const step = play.shown().steps[shown.selected];
  const hasTools = tools.length > 0;
  return (
    <>
      <EpisodeBar info={info} play={play} shown={shown} files={files} />
      <ConnectionNotice info={info} play={play} shown={shown} />
      <ImportedNotice
        info={info}
        play={play}
        shown={shown}
        files={files}
        replaying={replaying}
        onReplay={() => {
          setReplayed(shown.imported);
          setPart("step");
        }}
      />
      <Announcer shown={shown} />
      <main className={`play ${hasTools ? "play--tools" : ""}`} id="main" tabIndex={-1} data-part={part}>
        {hasTools ? <ToolList tools={tools} info={info} draft={draft} again={schema.load} /> : null}
        <ActionPane info={info} play={play} shown={shown} schema={schema} draft={draft} />
        <div className="switch">
          <Segments
            label="What is shown below"
            options={[
              { name: "step", label: nameOf(step, replaying) },
              { name: "timeline", label: "Timeline" },
              { name: "state", label: "State" },
            ]}
            selected={part}
            onSelect={setPart}
          />
        </div>
        {replaying ? (
          <ReplayPane info={info} imported={replayed} onClose={() => setReplayed(undefined)} />
        ) : (
          <StepPane info={info} play={play} shown={shown} draft={draft} tools={tools} />
        )}
        <TimelinePane play={play} shown={shown} hasTools={hasTools} />
        <StatePane play={play} shown={shown} />
      </main>
    </>
  );
}

/** What the pane of the step shows. */
function nameOf(step: Step | undefined, replaying: boolean): string {
  if (replaying) return "Replay";
  if (!step) return "Step";
  return step.kind === "reset" ? "Reset" : `Step ${step.number}`;
}

/** On a small screen the answer is brought into view once it is there. */
function useScrollToAnswer(steps: number, show: (part: Part) => void): void {
  useEffect(() => {
    if (steps === 0 || !matchMedia("(max-width: 47.49em)").matches) return;
    show("step");
    requestAnimationFrame(() => document.getElementById("step-h")?.scrollIntoView({ block: "nearest" }));
  }, [steps, show]);
}
