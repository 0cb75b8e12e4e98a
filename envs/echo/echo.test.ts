import { connect, connectTools } from "openenv-ts/client";
import { serve } from "openenv-ts/server";
import { checkEnvironment, checkServer, renderCheckReport } from "openenv-ts/testing";
import { describe, expect, test } from "vitest";
import { echo } from "./models.js";
import environment from "./server/environment.js";

describe("the echo environment", () => {
  test("returns the message and rewards 0.1 per character", async () => {
    await using env = await connect(environment);
    const reset = await env.reset();
    expect(reset.observation).toEqual({ echoed_message: "Echo environment ready!", message_length: 0 });
    expect(reset.metadata).toEqual({ status: "ready", message: "Echo environment ready!" });
    const { observation, reward, done } = await env.step({ message: "héllo 👋" });
    expect(observation).toEqual({ echoed_message: "héllo 👋", message_length: 7 });
    expect(reward).toBeCloseTo(0.7);
    expect(done).toBe(false);
  });

  test("has tools in addition to its action, which trainers find by the title of the action", async () => {
    await using env = await connect(environment);
    await env.reset();
    expect((await env.tools.echo_message({ message: "hi" })).data).toBe("hi");
    expect((await env.tools.echo_with_length({ message: "hi" })).data).toEqual({ message: "hi", length: 2 });
    expect(echo.schemas().action["title"]).toBe("Action");
    await using client = await connectTools(environment);
    expect((await client.listTools()).map(({ name }) => name)).toEqual(["echo_message", "echo_with_length"]);
  });

  test("takes a step before any reset", async () => {
    await using env = await connect(environment);
    expect((await env.step({ message: "hi" })).observation.message_length).toBe(2);
  });

  test("keeps the promises of every environment", async () => {
    const report = await checkEnvironment(environment);
    expect(report.passed, renderCheckReport(report)).toBe(true);
    expect(report.checks.find(({ id }) => id === "restores")?.status).toBe("passed");
  });

  test("is served to many sessions at once, each with its own answers", async () => {
    await using server = await serve(environment, { port: 0, logLevel: "silent" });
    const report = await checkServer(server.url);
    expect(report.passed, renderCheckReport(report)).toBe(true);
    const answers = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        await using env = await connect(server.url, echo);
        await env.reset();
        return (await env.step({ message: "x".repeat(index) })).observation.message_length;
      }),
    );
    expect(answers).toEqual(Array.from({ length: 50 }, (_, index) => index));
  });
});
