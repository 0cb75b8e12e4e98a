/** Plays an episode on a server with the audit log, and reads the log. Run it with `npx openenv run examples/plugin-audit/main.ts`. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "openenv-ts/client";
import { serve } from "openenv-ts/server";
import environment from "../dice.js";
import audit from "./audit.js";

const folder = mkdtempSync(join(tmpdir(), "audit-"));
process.env["OPENENV_AUDIT_FILE"] = join(folder, "audit.jsonl");

await using server = await serve(environment, { port: 0, logLevel: "error", plugins: [audit] });
const env = await connect(server.url);
await env.reset();
await env.step({ eyes: 4 });
await env.close();
await server.close();

const lines = readFileSync(join(folder, "audit.jsonl"), "utf8").trim().split("\n");
const log = lines.map((line) => JSON.parse(line) as { type: string; request?: object });
rmSync(folder, { recursive: true });
assert.deepEqual(
  log.map(({ type }) => type),
  ["reset", "step", "end"],
);
assert.deepEqual(log[1]?.request, { eyes: 4 });
console.log(lines.join("\n"));
