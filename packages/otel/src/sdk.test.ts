import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { counterModule, createProject, startCommand } from "../../../test-support/commands/command-line.js";

const PROGRAM = `
  import otel from "@openenv-ts/otel";
  import { connect } from "openenv-ts/client";
  import { serve } from "openenv-ts/server";
  import environment from "./environment.ts";
  const start = () => serve(environment, { port: 0, plugins: [otel] });
  for (const server of [await start(), await start()]) {
    const env = await connect(server.url);
    await env.reset();
    await env.close();
    await server.close();
  }
`;

test("each server of a process sends its last spans when it stops", { timeout: 60_000 }, async () => {
  const bodies: Buffer[] = [];
  const collector = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    bodies.push(Buffer.concat(chunks));
    response.end();
  }).listen(0, "127.0.0.1");
  await once(collector, "listening");
  onTestFinished(() => void collector.close());
  await using project = await createProject({ "environment.ts": counterModule(), "app.ts": PROGRAM });
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
    // Longer than the program runs.
    OTEL_BSP_SCHEDULE_DELAY: "600000",
  };
  await using running = startCommand(["run", "app.ts"], { cwd: project.dir, env });
  expect(await running.exited).toBe(0);
  expect(bodies.map((body) => body.includes("openenv.session"))).toEqual([true, true]);
});
