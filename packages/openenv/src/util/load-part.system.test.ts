/** An installed package whose parts are missing, on each runtime: each reports a missing module in its own words. */
import { execFile } from "node:child_process";
import { cp, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createProject } from "../../../../test-support/commands/command-line.js";
import { requireRuntimes } from "../../../../test-support/requirement.js";

const ROOT = join(import.meta.dirname, "../../../..");
const PARTS = ["cluster", "durable", "isolation"];
const PROGRAM = `
import { defineContract, defineEnvironment } from "openenv-ts";
import { serve } from "openenv-ts/server";
import * as z from "zod";
const contract = defineContract({ name: "empty_env", action: z.object({}), observation: z.object({}) });
const environment = defineEnvironment(contract, () => ({ reset: () => ({ observation: {} }), step: () => ({ observation: {} }) }));
const options = { host: "127.0.0.1", port: 0, logLevel: "error" };
const server = await serve(environment, options);
const api = await (await fetch(server.url + "/openapi.json")).json();
console.log(Object.keys(api.paths).filter((path) => path.startsWith("/sessions")).join());
await server.close();
const needs = [{ journal: "memory" }, { isolation: "thread", module: import.meta.url }];
for (const need of needs) await serve(environment, { ...options, ...need }).catch(({ code, message }) => console.log(code, message));
`;

test.for(await requireRuntimes())(
  "without the parts that may be missing, a server on $name starts, and names them where they are needed",
  {
    timeout: 120_000,
  },
  async ({ name, path, available }, { skip }) => {
    if (!available) skip();
    const manifest = '{ "type": "module", "dependencies": { "openenv-ts": "*", "zod": "*" } }';
    await using project = await createProject({ "package.json": manifest, "main.mjs": PROGRAM });
    const installed = join(project.dir, "node_modules/openenv-ts");
    for (const file of ["package.json", "dist"])
      await cp(join(ROOT, "packages/openenv", file), join(installed, file), { recursive: true });
    for (const part of PARTS) await rm(join(installed, "dist/parts", part), { recursive: true });
    await symlink(join(ROOT, "node_modules/zod"), join(project.dir, "node_modules/zod"));
    const args =
      name === "deno" ? ["run", "--allow-all", "--node-modules-dir=manual", "--unstable-no-legacy-abort"] : [];
    const { stdout } = await promisify(execFile)(path, [...args, "main.mjs"], { cwd: project.dir });
    expect(stdout.trim().split("\n")).toEqual([
      "/sessions,/sessions/{session_id},/sessions/pause,/sessions/resume",
      expect.stringMatching(/^INVALID_CONFIG JOURNAL needs the part "durable" of openenv-ts/),
      expect.stringMatching(/^INVALID_CONFIG ISOLATION "thread" needs the part "isolation" of openenv-ts/),
    ]);
  },
);
