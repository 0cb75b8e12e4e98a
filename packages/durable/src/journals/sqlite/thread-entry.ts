/** The thread of a journal in SQLite. */
import { parentPort, workerData } from "node:worker_threads";
import type { Journal } from "../journal.js";
import type { Failure, ThreadAnswer, ThreadCall } from "./journal-thread.js";
import type { SqliteJournalOptions } from "./open-file.js";
import { openHere } from "./sqlite-journal.js";

let journal: Journal;
let answers: ThreadAnswer[] = [];

parentPort?.on("message", (calls: ThreadCall[]) => {
  for (const call of calls) void perform(call);
});

async function perform([number, method, args]: ThreadCall): Promise<void> {
  try {
    if (method === "open") {
      journal = await openHere(workerData as SqliteJournalOptions);
      return answer([number, undefined]);
    }
    const run = journal[method] as (...all: unknown[]) => unknown;
    answer([number, await run.apply(journal, args)]);
  } catch (error) {
    answer([number, undefined, describe(error)]);
  }
}

function answer(one: ThreadAnswer): void {
  // The answers to one transaction go together.
  if (answers.length === 0) queueMicrotask(send);
  answers.push(one);
}

function send(): void {
  parentPort?.postMessage(answers);
  answers = [];
}

function describe(error: unknown): Failure {
  const { code = "JOURNAL_UNAVAILABLE", message, isDamage = false } = error as Partial<Failure> & Error;
  return { code, message, isDamage };
}
