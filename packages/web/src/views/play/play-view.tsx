import { useEffect, useState, useSyncExternalStore } from "react";
import { Segments } from "../../parts/segments.js";
import { formatReward } from "../../parts/text/format.js";
import type { Imported, PlaySnapshot } from "../../play/play.js";
import type { TimelineStep } from "../../play/timeline.js";
import type { ViewProps } from "../../views.js";
import { ActionPane } from "./action/action-pane.js";
import { ToolList } from "./action/tool-list.js";
import { useDraft } from "./action/use-draft.js";
import { ConnectionNotice } from "./episode/connection-notice.js";
import { EpisodeBar } from "./episode/episode-bar.js";
import { ImportedNotice } from "./episode/imported-notice.js";
import { ReplayPane } from "./episode/replay-pane.js";
import { useFiles } from "./episode/use-files.js";
import { useShortcuts } from "./shortcuts.js";
import { StatePane } from "./state-pane.js";
import { StepPane } from "./step/step-pane.js";
import { TimelinePane } from "./timeline-pane.js";

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
  useScrollToAnswer(shown.timeline.steps.at(-1), setPart);
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
function nameOf(step: TimelineStep | undefined, replaying: boolean): string {
  if (replaying) return "Replay";
  if (!step) return "Step";
  return step.kind === "reset" ? "Reset" : `Step ${step.number}`;
}

/** On a small screen the answer is brought into view once it is there. */
function useScrollToAnswer(last: TimelineStep | undefined, show: (part: Part) => void): void {
  useEffect(() => {
    if (!last || !matchMedia("(max-width: 47.49em)").matches) return;
    show("step");
    // The form is filled in next: one that is longer than the window is not scrolled past.
    const form = document.querySelector(".pane--act");
    if (last.kind === "reset" && form && form.clientHeight > innerHeight) return;
    requestAnimationFrame(() => void showAnswer());
  }, [last, show]);
}

/** Scrolls as little as shows what the author drew, what failed, or the observation. */
async function showAnswer(): Promise<void> {
  const pane = document.querySelector(".pane--step");
  const answer =
    pane?.querySelector(".view-parts") ?? pane?.querySelector(".note") ?? pane?.querySelectorAll(".block")[1] ?? pane;
  if (!answer) return;
  // A picture has no height before.
  await Promise.allSettled([...answer.querySelectorAll("img")].map((picture) => picture.decode()));
  answer.scrollIntoView({ block: "nearest" });
}

/** Tells a screen reader what came back; errors are told where they are shown. */
function Announcer({ shown }: { shown: PlaySnapshot }) {
  const last = shown.timeline.steps.at(-1);
  const words = !last
    ? ""
    : last.failure
      ? last.kind === "reset"
        ? "The reset failed"
        : `Step ${last.number} failed`
      : last.kind === "reset"
        ? `Episode ${last.episode + 1} started`
        : `Step ${last.number}, reward ${formatReward(last.reward)}, ${last.done ? "done" : "not done"}`;
  return (
    <p className="sr" role="status" id="announcer">
      {words}
    </p>
  );
}
