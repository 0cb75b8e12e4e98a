import { useEffect, useRef } from "react";
import { copyText } from "../../parts/text/copy-text.js";
import { isFree, type Play } from "../../play/play.js";
import { recall, remember } from "../../remember.js";
import { focusFirstField } from "./action/action-pane.js";
import type { TimelineFiles } from "./episode/use-files.js";

export type StepTab = "step" | "diff" | "raw";

/** Event on the document with the requested tab of the step. */
export const STEP_TAB_EVENT = "openenv:step-tab";
/** Event on the document that opens the list of shortcuts. */
export const SHORTCUTS_EVENT = "openenv:shortcuts";
const KEY = "single-keys";

export function singleKeysOn(): boolean {
  return recall(KEY) !== "off";
}

export function setSingleKeys(on: boolean): void {
  remember(KEY, on ? "on" : "off");
}

/** True when the element accepts text input. */
export function isField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.matches("textarea, select, input:not([type=radio]):not([type=checkbox])") || target.isContentEditable;
}

/** Shortcuts of the Play view, outside of fields. Alt with an arrow moves in the timeline from anywhere. */
export function useShortcuts(play: Play, files: TimelineFiles, active: () => boolean): void {
  const latest = useRef({ play, files, active });
  latest.current = { play, files, active };
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || !latest.current.active() || document.querySelector("dialog[open]")) return;
      const { play: game, files: disk } = latest.current;
      const { selected } = game.snapshot();
      if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
        event.preventDefault();
        return game.select(selected + (event.key === "ArrowUp" ? -1 : 1));
      }
      if (isField(event.target)) {
        if (event.key === "Escape") (event.target as HTMLElement).blur();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || !singleKeysOn()) return;
      const act = actionFor(event.key, game, disk);
      if (!act) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

function actionFor(key: string, play: Play, files: TimelineFiles): (() => void) | undefined {
  const { selected } = play.snapshot();
  const free = isFree(play.snapshot());
  const tab = (name: StepTab) => () => document.dispatchEvent(new CustomEvent(STEP_TAB_EVENT, { detail: name }));
  return new Map<string, () => void>([
    ["j", () => play.select(selected + 1)],
    ["k", () => play.select(selected - 1)],
    ["g", () => play.select(0)],
    ["G", () => play.select(play.shown().steps.length - 1)],
    ["r", () => free && void play.reset({})],
    ["R", () => document.getElementById("reset-options")?.click()],
    ["s", () => free && void play.refreshState()],
    ["1", tab("step")],
    ["2", tab("diff")],
    ["3", tab("raw")],
    ["d", tab("diff")],
    ["c", () => copyStep(play)],
    ["e", files.save],
    ["/", () => (document.getElementById("find-tool") ?? { focus: focusFirstField }).focus()],
  ]).get(key);
}

function copyStep(play: Play): void {
  const step = play.shown().steps[play.snapshot().selected];
  if (!step) return;
  const { action, observation, reward, done, metadata } = step;
  void copyText(JSON.stringify({ action, observation, reward, done, metadata }, null, 2));
}
