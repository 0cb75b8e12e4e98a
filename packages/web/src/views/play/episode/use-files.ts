import type { WebInfo } from "openenv-ts/protocol";
import { useEffect, useState } from "react";
import { parseJsonl, renderJsonl } from "../../../play/jsonl.js";
import type { Play, PlaySnapshot } from "../../../play/play.js";
import type { Timeline } from "../../../play/timeline.js";
import { BASE } from "../../../server/base.js";

/** Exports the timeline to a file, and imports one. */
export interface TimelineFiles {
  /** Why the last file could not be read. */
  problem: string | undefined;
  save(): void;
  choose(): void;
  forget(): void;
}

/** Downloads a timeline as a file with the date of today. */
export function saveTimeline(name: string, timeline: Timeline, info: WebInfo): void {
  const day = new Date().toISOString().slice(0, 10);
  saveFile(`${name}-${day}.jsonl`, renderJsonl(timeline, { environment: info.name, url: BASE }));
}

/** Larger files would block the page for seconds. */
const MAX_BYTES = 200_000_000;

export function useFiles(info: WebInfo, play: Play, shown: PlaySnapshot): TimelineFiles {
  const [problem, setProblem] = useState<string>();
  // Asks before the tab is closed with steps that were not exported, and that a reload would not bring back.
  useEffect(() => {
    if (!shown.unsaved) return;
    const warn = (event: BeforeUnloadEvent): void => {
      if (!play.survives()) event.preventDefault();
    };
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [play, shown.unsaved]);
  const read = async (file: File): Promise<void> => {
    if (file.size > MAX_BYTES) return setProblem(`${file.name} has more than ${MAX_BYTES / 1e6} MB.`);
    try {
      const found = parseJsonl(await file.text());
      setProblem(undefined);
      play.show({ name: file.name, ...found });
    } catch (error) {
      setProblem(`${file.name}: ${(error as Error).message}`);
    }
  };
  return {
    problem,
    save() {
      const { timeline } = play.snapshot();
      if (timeline.steps.length === 0) return;
      saveTimeline(info.name, timeline, info);
      play.saved();
    },
    choose() {
      const input = document.createElement("input");
      input.type = "file";
      input.accept = ".jsonl,.ndjson,application/jsonl";
      input.onchange = () => {
        const [file] = input.files ?? [];
        if (file) void read(file);
      };
      input.click();
    },
    forget: () => setProblem(undefined),
  };
}

/** Downloads text as a file. */
function saveFile(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/jsonl" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
