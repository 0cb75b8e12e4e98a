import { createHash } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import { createProject, startCommand } from "../../../../../test-support/commands/command-line.js";
import { openTestSocket } from "../../../../../test-support/sockets/socket.js";

// Starting a process takes seconds on a machine with other work.
vi.setConfig({ testTimeout: 120_000 });

/** An environment whose observation is NaN. */
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

/** Serves it at a log level, plays two sessions and stops the server; returns the lines of the log. */
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
  test("at level info contains the start and the end of each session once, and the address", async () => {
    const lines = await play("info");
    const starts = lines.filter(({ msg }) => msg === "session started");
    expect(starts).toHaveLength(2);
    for (const { session, episode } of starts) {
      expect(episode).toMatch(/^[0-9a-f-]{36}$/);
      const own = { session, episode, steps: 1 };
      expect(lines.filter(({ msg }) => msg === "session ended")).toContainEqual(expect.objectContaining(own));
    }
    expect(lines.filter(({ msg }) => msg === "listening")).toHaveLength(1);
    const ends = lines.filter(({ msg }) => msg === "session ended");
    expect(new Set(ends.map(({ session }) => session)).size).toBe(2);
    expect(ends).toHaveLength(2);
  });

  test("at level warn contains only dropped reset options and NaN", async () => {
    const lines = await play("warn");
    expect(lines.filter(({ dropped }) => dropped !== undefined)).toMatchObject(
      Array(2).fill({ dropped: ["levle"], declared: "level" }),
    );
    expect(lines.filter(({ count }) => count !== undefined)).toMatchObject(
      Array(2).fill({ count: 1, msg: "step returned NaN or infinities; they were sent as null" }),
    );
    expect(lines).toHaveLength(4);
  });

  test("names an open HTTP session by the start of its id, which gives no access to it", async () => {
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

  test("names the first episode of a session and the hash of the name in its address, and nothing without a slot", async () => {
    await using project = await createProject({ "environment.js": MODULE });
    const args = ["serve", "--port", "0", "--workers", "2", "--log-level", "info"];
    await using running = startCommand(args, { cwd: project.dir });
    const [, url] = await running.printed(/at (http:\/\/127\.0\.0\.1:\d+)/);
    const post = (path: string, body: object, headers: Record<string, string> = {}) =>
      fetch(url + path, {
        method: "POST",
        headers: { connection: "close", "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      });
    const names = ["run-7_worker-3_5f1c9a", "run-7_worker-4_09b2e1"] as const;
    for (const episode_id of ["first\n", "second"]) await post(`/session/${names[0]}/reset`, { episode_id });
    await post("/reset", { episode_id: "other" }, { "x-openenv-session-id": names[1] });
    // In an environment for this request only.
    await fetch(`${url}/state`);
    running.process.kill("SIGTERM");
    expect(await running.exited).toBe(0);
    const lines = running.stderr.split("\n").flatMap((line) => (line.startsWith("{") ? [JSON.parse(line)] : []));
    const hashes = names.map((name) => createHash("sha256").update(name).digest("hex"));
    const linesOf = (what: string) =>
      lines.filter(({ msg }) => msg === what).map(({ name, episode, level }) => ({ name, episode, level }));
    // Two workers write them, each to its own pipe.
    const byEpisode = linesOf("session started").sort((a, b) => (a.episode < b.episode ? -1 : 1));
    expect(byEpisode).toEqual([
      { name: hashes[0], episode: "first\n", level: 30 },
      { name: hashes[1], episode: "other", level: 30 },
    ]);
    expect(linesOf("session ended")).toHaveLength(2);
    expect(linesOf("session ended")).toContainEqual({ name: hashes[0], episode: "second", level: 30 });
    for (const name of names) expect(running.stderr).not.toContain(name);
  });

  test("at level silent is empty", async () => {
    expect(await play("silent")).toEqual([]);
  });
});
