import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { navigate, useRoute } from "../../app/router.js";
import { IconButton } from "../../parts/icon-button.js";
import { Notice } from "../../parts/notice.js";
import { Segments } from "../../parts/segments.js";
import { count, formatReward } from "../../parts/text/format.js";
import type { Imported, Play, PlaySnapshot } from "../../play/play.js";
import { playOn } from "../../play/play-on.js";
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

/** The action on the left, the selected step in the middle, the timeline on the right. */
export function PlayView({ info, play, schema }: ViewProps) {
  const shown = useSyncExternalStore(play.subscribe, play.snapshot);
  const tools = schema.value?.tools ?? [];
  const draft = useDraft(info, schema.value);
  const [part, setPart] = useState<Part>("step");
  const [replayed, setReplayed] = useState<Imported>();
  // Another file is only shown, not replayed.
  const replaying = replayed !== undefined && replayed === shown.imported;
  const files = useFiles(info, play, shown);
  useShortcuts(play, files, () => !document.getElementById("main")?.closest("[hidden]"));
  useScrollToAnswer(shown.timeline.steps.at(-1), setPart);
  useStepAddress(play, shown);
  usePlayOn(play, shown);
  const step = play.shown().steps[shown.selected];
  const hasTools = tools.length > 0;
  return (
    <>
      <EpisodeBar info={info} play={play} shown={shown} files={files} />
      <ConnectionNotice info={info} play={play} shown={shown} />
      {shown.notForked === undefined ? null : (
        <Notice
          tone="bad"
          bar
          title="There is no fork."
          actions={<IconButton icon="close" label="Dismiss" onClick={() => play.dismissFork()} />}
        >
          <bdi>{shown.notForked}</bdi>
        </Notice>
      )}
      {shown.dropped > 0 ? (
        <Notice
          tone="wait"
          bar
          title="Earlier steps were not kept."
          actions={<IconButton icon="close" label="Dismiss" onClick={() => play.forgetDropped()} />}
        >
          The timeline was larger than the browser keeps for a tab (4 million characters):{" "}
          {count(shown.dropped, "step")} of it {shown.dropped === 1 ? "is" : "are"} missing. The session continues.
        </Notice>
      ) : null}
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
            label="Visible part"
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

/** The address names the selected step, but the last one, which the page follows. Back returns to it. */
function useStepAddress(play: Play, { selected }: PlaySnapshot): void {
  const route = useRoute();
  const named = route.view === "play" && route.from === undefined ? route.step : undefined;
  const last = play.shown().steps.length - 1;
  const latest = useRef(selected);
  // The address has changed: back, forward, or a link.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new step does not change what the address names
  useEffect(() => {
    if (named !== undefined) play.select(named ?? last);
    latest.current = play.snapshot().selected;
  }, [named, play]);
  // The visitor has selected a step, or the page follows a new one.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only where the selection changes
  useEffect(() => {
    // The effect above may have changed it since this was drawn.
    const now = play.snapshot().selected;
    if (named === undefined || now === latest.current) return;
    latest.current = now;
    const step = now === last ? null : now;
    if (step !== named) navigate({ view: "play", step }, { replace: named !== null });
  }, [selected]);
}

/** The address names a recorded step to play on from. It is played once, and not again by a reload. */
function usePlayOn(play: Play, { connection, pending }: PlaySnapshot): void {
  const route = useRoute();
  const from = route.view === "play" ? route.from : undefined;
  const isReady = from !== undefined && connection.status === "connected" && pending === undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the address names the step together with the episode
  useEffect(() => {
    if (!isReady || route.view !== "play") return;
    navigate({ view: "play", step: null }, { replace: true });
    void playOn(play, from, route.step ?? 0);
  }, [isReady, from, play]);
}

/** The name of the step pane. */
function nameOf(step: TimelineStep | undefined, replaying: boolean): string {
  if (replaying) return "Replay";
  if (!step) return "Step";
  return step.kind === "reset" ? "Reset" : `Step ${step.number}`;
}

/** On a small screen, scrolls the response into view when it arrives. */
function useScrollToAnswer(last: TimelineStep | undefined, show: (part: Part) => void): void {
  useEffect(() => {
    if (!last || !matchMedia("(max-width: 47.49em)").matches) return;
    show("step");
    // After a reset the form comes next, so a form that is longer than the viewport stays in view.
    const form = document.querySelector(".pane--act");
    if (last.kind === "reset" && form && form.clientHeight > innerHeight) return;
    requestAnimationFrame(() => void showAnswer());
  }, [last, show]);
}

/** Scrolls just enough to show the author's view, the failure, or the observation. */
async function showAnswer(): Promise<void> {
  const pane = document.querySelector(".pane--step");
  const answer =
    pane?.querySelector(".view-parts") ?? pane?.querySelector(".note") ?? pane?.querySelectorAll(".block")[1] ?? pane;
  if (!answer) return;
  // A picture has no height until it has loaded.
  await Promise.allSettled([...answer.querySelectorAll("img")].map((picture) => picture.decode()));
  answer.scrollIntoView({ block: "nearest" });
}

/** Announces the result to screen readers; errors are announced where they are shown. */
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
