import { isObject } from "../../util/is-object.js";
import { escapeControls } from "../../util/text/escape-controls.js";

interface Lines {
  write(line: string): void;
}

const LEVELS: Record<number, string> = { 10: "TRACE", 20: "DEBUG", 30: "INFO", 40: "WARN", 50: "ERROR", 60: "FATAL" };

/** Turns the JSON lines of a log into lines for people before they are written. */
export function readableLines(target: Lines): Lines {
  return { write: (line) => target.write(renderLogLine(line)) };
}

/** `12:30:05 WARN  the environment failed in step (session 1a2b3c4d)`, and the stack of an error in lines below. */
export function renderLogLine(line: string): string {
  const { level, time, msg, err, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const clock = new Date(Number(time)).toTimeString().slice(0, "00:00:00".length);
  const more = Object.entries(fields).map(([name, value]) => `${name} ${renderField(value)}`);
  const head = `${clock} ${(LEVELS[Number(level)] ?? "").padEnd(5)} ${msg}${more.length > 0 ? ` (${more.join(", ")})` : ""}`;
  const stack = isObject(err) ? String(err["stack"] ?? err["message"] ?? "") : "";
  const lines = [
    head.replaceAll(/\r?\n/g, " "),
    ...stack.split("\n").flatMap((part) => (part.trim() === "" ? [] : `    ${part.trim()}`)),
  ];
  return `${escapeControls(lines.join("\n"))}\n`;
}

function renderField(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
