/** A server that was busy reads what its isolates have said before it judges them by the clock. */
import { writeFileSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import { type IsolatedServer, startIsolated } from "../../../test-support/environments/isolation.js";

const MODULE = `
import { appendFileSync, existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";
const contract = defineContract({ name: "late_env", action: z.object({ op: z.string() }), observation: z.object({}) });
const answer = () => ({ observation: {} });
const log = (text) => appendFileSync(new URL("./log.txt", import.meta.url), text + "\\n");
export default defineEnvironment(contract, () => ({
  reset: answer,
  step: async ({ op }) => {
    if (op === "never") {
      // Between two lines the loop reads what has come: an interval that is late may run twice in one turn.
      const turn = () => { log("turned"); setImmediate(() => setTimeout(turn, 5)); };
      turn();
      await new Promise(() => {});
    }
    if (op === "late") {
      log("begun");
      while (!existsSync(new URL("./go", import.meta.url))) await sleep(5);
      setTimeout(() => log("sent"), 20);
    }
    return answer();
  },
}));
`;
const step = (op: string) => ({ type: "step", data: { op } });
const turn = () => new Promise((next) => setImmediate(next));

/** Keeps this thread busy until the environments have written as many lines. */
function stall(isolated: IsolatedServer, lines: number): void {
  const never = new Int32Array(new SharedArrayBuffer(4));
  while (isolated.log().length < lines) Atomics.wait(never, 0, 0, 5);
}

describe.each(["thread", "process"] as const)("in a %s", (isolation) => {
  test("an answer that came before its time was up counts", async () => {
    await using isolated = await startIsolated({ isolation, stepTimeout: 60 }, MODULE);
    const { socket } = await isolated.play();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      socket.send(step("late"));
      while (!isolated.log().includes("begun")) await turn();
      writeFileSync(new URL("./go", isolated.url), "");
      stall(isolated, 2);
      vi.advanceTimersByTime(60_000);
      expect(await socket.receive()).toMatchObject({ type: "observation" });
    } finally {
      vi.useRealTimers();
    }
    expect(await socket.ask(step("soon"))).toMatchObject({ type: "observation" });
  });

  test("so does the sign of life of an isolate in doubt", async () => {
    await using isolated = await startIsolated({ isolation, isolatePoolSize: 1, stepTimeout: 60 }, MODULE);
    const [stuck, other] = [await isolated.play(), await isolated.play()];
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      stuck.socket.send(step("never"));
      while (isolated.log().length === 0) await turn();
      vi.advanceTimersByTime(60_000);
      // The isolate is asked in this turn, before anything else is read.
      await turn();
      stall(isolated, isolated.log().length + 3);
      vi.advanceTimersByTime(1_000);
      expect(await stuck.socket.receive()).toMatchObject({ data: { code: "TIMEOUT" } });
    } finally {
      vi.useRealTimers();
    }
    expect(await other.socket.ask(step("soon"))).toMatchObject({ type: "observation" });
  });
});
