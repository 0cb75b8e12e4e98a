import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import benchmark from "../../../../envs/benchmark/server/environment.js";
import { defineCoding } from "../../../../envs/coding/server/coding-environment.js";
import echo from "../../../../envs/echo/server/environment.js";
import incident from "../../../../envs/incident/server/environment.js";
import sql from "../../../../envs/sql/server/environment.js";
import support from "../../../../envs/support/server/environment.js";
import wordle from "../../../../envs/wordle/server/environment.js";

// The module of the coding environment prepares a sandbox, which not every machine has.
const coding = defineCoding({} as Parameters<typeof defineCoding>[0], 1);

test.each(Object.entries({ benchmark, coding, echo, incident, sql, support, wordle }))(
  "the sessions of %s share no state, so its image has four workers",
  async (name, { sharesState }) => {
    expect(sharesState).toBe("no");
    const dockerfile = await readFile(new URL(`../../../../envs/${name}/server/Dockerfile`, import.meta.url), "utf8");
    expect(dockerfile).toMatch(/^ARG WORKERS=4$/m);
  },
);
