import { EnvironmentError } from "../../errors.js";
import { parseJson, TooDeepError } from "../../protocol/codec/json.js";
import { isObject } from "../../util/is-object.js";
import type { TaskList } from "./task-lists.js";
import type { Task } from "./tasks.js";

/**
 * Tasks from JSON Lines: one object per line; blank lines are ignored. The source is read on first use, and a task is
 * parsed on each access: memory holds only the bytes and the offsets of the lines. A line that is not a JSON object is
 * an EnvironmentError with the line number. `name` is the name of the source in errors.
 */
export function parseJsonl(source: string | Uint8Array | (() => Uint8Array), name = "the tasks"): TaskList {
  return new JsonlTasks(source, name);
}

const NEWLINE = 0x0a;
const MAX_BYTES = 2 ** 32 - 1;

class JsonlTasks implements TaskList {
  #source: string | Uint8Array | (() => Uint8Array) | undefined;
  #bytes: Uint8Array = new Uint8Array();
  #starts = new Uint32Array();
  readonly #name: string;

  constructor(source: string | Uint8Array | (() => Uint8Array), name: string) {
    this.#source = source;
    this.#name = name;
  }

  get length(): number {
    this.#load();
    return this.#starts.length;
  }

  at(index: number): Task | undefined {
    this.#load();
    const start = this.#starts.at(index);
    return start === undefined ? undefined : this.#parse(start);
  }

  #load(): void {
    const source = this.#source;
    if (source === undefined) return;
    const bytes = typeof source === "string" ? new TextEncoder().encode(source) : source;
    this.#bytes = typeof bytes === "function" ? bytes() : bytes;
    if (this.#bytes.length > MAX_BYTES)
      throw new EnvironmentError(`${this.#name}: more than ${MAX_BYTES} bytes; split the file`);
    this.#starts = findLines(this.#bytes);
    // Free the source: the bytes are kept instead.
    this.#source = undefined;
  }

  #parse(start: number): Task {
    const end = this.#bytes.indexOf(NEWLINE, start);
    const line = this.#bytes.subarray(start, end < 0 ? undefined : end);
    let value: unknown;
    try {
      value = parseJson(new TextDecoder("utf-8", { fatal: true }).decode(line));
    } catch (cause) {
      if (cause instanceof TooDeepError) throw this.#wrong(start, cause.message);
      throw this.#wrong(start, cause instanceof SyntaxError ? "not valid JSON" : "not valid UTF-8", cause);
    }
    if (isObject(value)) return value;
    throw this.#wrong(start, "not a JSON object");
  }

  #wrong(start: number, reason: string, cause?: unknown): EnvironmentError {
    let line = 1;
    for (let at = this.#bytes.indexOf(NEWLINE); at >= 0 && at < start; at = this.#bytes.indexOf(NEWLINE, at + 1))
      line++;
    return new EnvironmentError(`${this.#name}, line ${line}: ${reason}`, { cause });
  }
}

/** The offsets of the lines that are not blank. */
function findLines(bytes: Uint8Array): Uint32Array<ArrayBuffer> {
  let starts = new Uint32Array(1024);
  let count = 0;
  for (let start = 0; start < bytes.length; ) {
    const found = bytes.indexOf(NEWLINE, start);
    const end = found < 0 ? bytes.length : found;
    if (!isBlank(bytes, start, end)) {
      if (count === starts.length) {
        const more = new Uint32Array(count * 2);
        more.set(starts);
        starts = more;
      }
      starts[count++] = start;
    }
    start = end + 1;
  }
  return starts.slice(0, count);
}

function isBlank(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if ((bytes[at] as number) > 0x20) return false;
  return true;
}
