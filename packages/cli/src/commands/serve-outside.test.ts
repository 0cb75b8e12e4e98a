import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "openenv-ts/client";
import { expect, test } from "vitest";
import { counterModule, startCommand } from "../../../../test-support/commands/command-line.js";

test.each(["environment.ts", "environment.mjs"])(
  "a file %s outside of every installation gets openenv-ts and zod from the command",
  async (name) => {
    const dir = await mkdtemp(join(tmpdir(), "openenv-outside-"));
    await using _ = { [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true, maxRetries: 5 }) };
    const text = name.endsWith(".ts") ? counterModule() : counterModule().replace("count: number =", "count =");
    await writeFile(join(dir, name), text);
    await using running = startCommand(["serve", name, "--port", "0"], { cwd: dir });
    const [, url = ""] = await running.printed(/at (http:\S+)/);
    await using env = await connect(url);
    await env.reset();
    expect((await env.step({ amount: 2 })).observation).toEqual({ count: 2 });
  },
);
