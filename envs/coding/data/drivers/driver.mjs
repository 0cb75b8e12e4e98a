/**
 * The JavaScript interpreter of a session: QuickJS in WebAssembly, which has no way to the machine. Its frames are those
 * of driver.py. A program cannot reach this process, so its time limit is kept in here and its variables survive it.
 */
import { readSync, writeSync } from "node:fs";
import { getPriority, setPriority } from "node:os";
import variant from "@jitl/quickjs-wasmfile-release-sync";
import { newQuickJSWASMModuleFromVariant, newVariant } from "quickjs-emscripten-core";

const [QUESTIONS, ANSWERS, OUT, ERR] = [3, 4, 1, 2];
const STACK_BYTES = 256 * 1024;
const PAGE_BYTES = 64 * 1024;
/** As the module was built. */
const [FIRST_PAGES, MAX_PAGES] = [256, 32_768];
const TIMED_OUT = 124;
const KILLED_WITHIN_MS = 10_000;
const LOWEST_PRIORITY = 19;
/** What a program needs at least. */
const RESERVE_BYTES = 256 * 1024;

/** Runs inside QuickJS, before any program. */
const CONSOLE = `(write) => {
  const { stringify } = JSON;
  const plain = (key, value) =>
    typeof value === "bigint" ? value + "n" : typeof value === "function" ? "[Function " + value.name + "]"
    : value instanceof Map || value instanceof Set ? [...value] : value;
  const show = (value) => {
    if (typeof value === "string") return value;
    if (value instanceof Error) return value.name + ": " + value.message + "\\n" + (value.stack ?? "");
    if (typeof value === "bigint") return value + "n";
    if (typeof value === "function") return "[Function " + value.name + "]";
    if (typeof value !== "object" || value === null) return String(value);
    try { return stringify(value, plain); } catch { return Object.prototype.toString.call(value); }
  };
  const to = (stream) => (...values) => write(stream, values.map(show).join(" ") + "\\n");
  globalThis.console = { log: to(1), info: to(1), debug: to(1), warn: to(2), error: to(2) };
  return show;
}`;

const start = ask();
// A server may have a low priority itself, which a process cannot raise.
setPriority(Math.min(LOWEST_PRIORITY, getPriority() + start.nice));
// The engine's own limit does not count what it allocates in WebAssembly; the memory it lives in has to end.
const pages = Math.max(FIRST_PAGES, Math.floor(start.memory_bytes / PAGE_BYTES));
const wasmMemory = new WebAssembly.Memory({ initial: FIRST_PAGES, maximum: Math.min(MAX_PAGES, pages) });
const quickjs = await newQuickJSWASMModuleFromVariant(newVariant(variant, { wasmMemory }));
const runtime = quickjs.newRuntime();
runtime.setMaxStackSize(STACK_BYTES);
let deadline = Number.POSITIVE_INFINITY;
let timedOut = false;
runtime.setInterruptHandler(() => {
  timedOut ||= performance.now() > deadline;
  return timedOut;
});
const context = runtime.newContext();
const show = installConsole();
answer({ ready: true });
for (let step = 1; ; step += 1) {
  const { id, code } = ask();
  const exitCode = run(code, `step-${step}.js`);
  writeAll(OUT, Buffer.from(id));
  writeAll(ERR, Buffer.from(id));
  answer({ id, exit_code: exitCode, timed_out: timedOut });
}

function run(code, name) {
  timedOut = false;
  deadline = performance.now() + start.timeout_ms;
  try {
    const exitCode = evaluate(code, name);
    if (!timedOut) return exitCode;
    // Jobs that are left would use up the time of every program to come: wait to be killed.
    if (runtime.hasPendingJob()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, KILLED_WITHIN_MS);
    return TIMED_OUT;
  } catch (error) {
    // The engine itself gave way (a parser's recursion, its memory): what it holds is no longer to be trusted.
    writeAll(ERR, Buffer.from(`${error}\n`));
    process.exit(1);
  } finally {
    deadline = Number.POSITIVE_INFINITY;
  }
}

function evaluate(code, name) {
  const result = context.evalCode(code, name, { type: "global" });
  if (result.error) return fail(result.error);
  const jobs = runtime.executePendingJobs();
  if (jobs.error) {
    result.value.dispose();
    return fail(jobs.error);
  }
  return settle(result.value);
}

/** A program whose last value is a promise ends as the promise does. */
function settle(value) {
  const state = context.getPromiseState(value);
  if (state.type === "fulfilled") {
    if (!state.notAPromise) state.value.dispose();
    value.dispose();
    return 0;
  }
  value.dispose();
  if (timedOut) {
    state.error?.dispose();
    return 1;
  }
  if (state.type === "rejected") return fail(state.error);
  writeAll(ERR, Buffer.from("the promise of the last line was never settled: nothing is left that could do it\n"));
  return 1;
}

function fail(error) {
  if (timedOut) {
    error.dispose();
    return 1;
  }
  const shown = context.callFunction(show, context.undefined, error);
  error.dispose();
  const text = shown.error ? "an error that cannot be shown (out of memory?)" : context.getString(shown.value);
  (shown.error ?? shown.value).dispose();
  writeAll(ERR, Buffer.from(`${text.trimEnd()}\n`));
  if (!hasMemory()) throw new Error("the variables of this interpreter take all of its memory");
  return 1;
}

function hasMemory() {
  const tried = context.evalCode(`new ArrayBuffer(${RESERVE_BYTES})`, "memory.js");
  (tried.error ?? tried.value).dispose();
  return !tried.error;
}

function installConsole() {
  const write = context.newFunction("write", (stream, text) => {
    writeAll(context.getNumber(stream) === 1 ? OUT : ERR, Buffer.from(context.getString(text)));
  });
  const install = context.unwrapResult(context.evalCode(CONSOLE, "console.js"));
  const show = context.unwrapResult(context.callFunction(install, context.undefined, write));
  write.dispose();
  install.dispose();
  return show;
}

function ask() {
  const length = receive(4).readUInt32BE();
  return JSON.parse(receive(length).toString());
}

function receive(count) {
  const data = Buffer.alloc(count);
  for (let filled = 0; filled < count; ) {
    const read = readSync(QUESTIONS, data, filled, count - filled, null);
    if (read === 0) process.exit(0);
    filled += read;
  }
  return data;
}

function answer(value) {
  const data = Buffer.from(JSON.stringify(value));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  writeAll(ANSWERS, Buffer.concat([length, data]));
}

function writeAll(fd, data) {
  for (let written = 0; written < data.length; ) written += writeSync(fd, data, written);
}
