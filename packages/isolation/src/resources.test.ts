/** Where resources open when sessions are isolated. */
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { createProject } from "../../../test-support/commands/command-line.js";
import { serve } from "../../../test-support/environments/built-server.js";

const MODULE = `
  import { appendFileSync } from "node:fs";
  import { threadId } from "node:worker_threads";
  import { defineContract, defineEnvironment } from "openenv-ts";
  import * as z from "zod";
  const contract = defineContract({
    name: "one_env",
    action: z.object({}),
    observation: z.object({ place: z.string(), db: z.string() }),
  });
  const here = () => process.pid + "/" + threadId;
  const log = (line) => appendFileSync(new URL("./log", import.meta.url), line + "\\n");
  const resource = (name, scope) => ({
    open: () => (log("open " + name + " " + here()), { at: here() }),
    close: ({ at }) => log("close " + name + " " + at),
    scope,
  });
  export const environment = defineEnvironment(
    contract,
    ({ resources: { place, db } }) => {
      const answer = () => ({ observation: { place: place.at, db: db.at } });
      return { reset: answer, step: answer };
    },
    { resources: { place: resource("place", "server"), db: resource("db", "worker") } },
  );
`;

test.each(["thread", "process"] as const)(
  "a server opens those it shares, and an isolate its own: %s",
  async (isolation) => {
    await using project = await createProject({ "module.mjs": MODULE, log: "" });
    const module = `${project.dir}/module.mjs`;
    const { environment } = await import(module);
    const server = await serve(environment, { port: 0, logLevel: "silent", isolation, module, isolatePoolSize: 1 });
    const here = `${process.pid}/0`;
    const seen: { place: string; db: string }[] = [];
    for (let i = 0; i < 2; i++) {
      const answer = await fetch(`${server.url}/reset`, { method: "POST" });
      seen.push(((await answer.json()) as { observation: { place: string; db: string } }).observation);
    }
    const [{ place, db } = { place: "", db: "" }, second] = seen;
    expect(second).toMatchObject({ place, db });
    expect(place).toBe(here);
    expect(db).not.toBe(here);
    await server.close();
    const lines = (await readFile(`${project.dir}/log`, "utf8")).trim().split("\n");
    expect(lines).toEqual([`open place ${here}`, `open db ${db}`, `close db ${db}`, `close place ${here}`]);
  },
);
