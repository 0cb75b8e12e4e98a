import { describe, expect, test } from "vitest";
import { createProject, startCommand } from "../../../../../test-support/commands/command-line.js";
import { openTestSocket } from "../../../../../test-support/sockets/socket.js";

/** Its observation is NaN. */
const MODULE = `
  import { defineContract, defineEnvironment } from "openenv-ts";
  import * as z from "zod";
  const contract = defineContract({
    name: "nan_env",
    action: z.object({}),
    observation: z.object({ value: z.number().nullable() }),
    reset: z.object({ level: z.int().optional() }),
  });
  export default defineEnvironment(contract, () => ({
    reset: () => ({ observation: { value: 1 } }),
    step: () => ({ observation: { value: NaN } }),
  }));
`;

/** Serves it at a log level, plays two sessions, ends the server; the lines of its log. */
async function play(level: string): Promise<Record<string, unknown>[]> {
  await using project = await createProject({ "environment.js": MODULE });
  const args = ["serve", "--port", "0", "--log-level", level];
  await using running = startCommand(args, { cwd: project.dir });
  const [, url] = await running.printed(/at (http:\/\/127\.0\.0\.1:\d+)/);
  for (let i = 0; i < 2; i++) {
    await using socket = await openTestSocket(`${url}/ws`);
    await socket.ask({ type: "reset", data: { levle: 3 } });
    expect(await socket.ask({ type: "step", data: {} })).toMatchObject({ data: { observation: { value: null } } });
  }
  running.process.kill("SIGTERM");
  expect(await running.exited).toBe(0);
  return running.stderr
    .trim()
    .split("\n")
    .flatMap((line) => (line.startsWith("{") ? [JSON.parse(line) as Record<string, unknown>] : []));
}

describe("the log of a server", () => {
  test("at level info tells each end of a session once, and where it listens", async () => {
    const lines = await play("info");
    expect(lines.filter(({ msg }) => msg === "listening")).toHaveLength(1);
    const ends = lines.filter(({ msg }) => msg === "session ended");
    expect(new Set(ends.map(({ session }) => session)).size).toBe(2);
    expect(ends).toHaveLength(2);
  });

  test("at level warn tells of dropped reset options and of NaN, and nothing else", async () => {
    const lines = await play("warn");
    expect(lines.filter(({ dropped }) => dropped !== undefined)).toMatchObject(
      Array(2).fill({ dropped: ["levle"], declared: "level" }),
    );
    expect(lines.filter(({ count }) => count !== undefined)).toMatchObject(
      Array(2).fill({ count: 1, msg: "step returned NaN or infinities; they were sent as null" }),
    );
    expect(lines).toHaveLength(4);
  });

  test("names an open HTTP session by the start of its id, which opens nothing", async () => {
    await using project = await createProject({ "environment.js": MODULE });
    const args = ["serve", "--port", "0", "--workers", "2", "--log-level", "debug"];
    await using running = startCommand(args, { cwd: project.dir });
    const [, url] = await running.printed(/at (http:\/\/127\.0\.0\.1:\d+)/);
    const ask = (path: string, body: object, session?: string) =>
      fetch(`${url}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...(session && { "openenv-session": session }) },
        body: JSON.stringify(body),
      });
    const id = (await ask("/reset", { levle: 3 })).headers.get("openenv-session") ?? "";
    expect(await (await ask("/step", { action: {} }, id)).json()).toMatchObject({ observation: { value: null } });
    running.process.kill("SIGTERM");
    expect(await running.exited).toBe(0);
    expect(id).toMatch(/^w\d-[0-9a-f-]{36}$/);
    const named = running.stderr.match(/(?<="session":")[^"]+/g) ?? [];
    expect(named.length).toBeGreaterThanOrEqual(3);
    expect(new Set(named)).toEqual(new Set([id.slice(0, "w0-".length + 8)]));
    expect(running.stderr).not.toContain(id);
  });

  test("at level silent is empty", async () => {
    expect(await play("silent")).toEqual([]);
  });
});
