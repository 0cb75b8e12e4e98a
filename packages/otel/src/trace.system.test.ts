import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { describe, expect, test } from "vitest";
import { createProject, startCommand } from "../../../test-support/commands/command-line.js";
import { type ReceivedSpan, startCollector } from "../../../test-support/tracing/collector.js";
import { requireOtelcol, requireTracing } from "../../../test-support/tracing/components.js";

const otelcol = await requireOtelcol();
const python = await requireTracing();
const BIN = join(import.meta.dirname, "../../cli/bin/openenv.js");
const PLUGIN = ["--plugin", "@openenv-ts/otel"];
const ENVIRONMENT = `
import { defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";
const contract = defineContract({
  name: "counter_env",
  action: z.object({ amount: z.int() }),
  observation: z.object({ count: z.int() }),
});
export default defineEnvironment(contract, () => {
  let count = 0;
  return {
    reset: () => ({ observation: { count: (count = 0) } }),
    step: ({ amount }) => ({ observation: { count: (count += amount) }, reward: amount }),
    snapshot: () => count,
    restore: (saved) => { count = saved; },
  };
});
`;
/** Prints the trace of its rollout, and steps again for each line of its input. */
const ROLLOUT = `
import sys
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
import openenv_ts

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
with trace.get_tracer("trainer").start_as_current_span("rollout") as span:
    with openenv_ts.connect(sys.argv[1]) as env:
        env.reset(seed=1)
        env.step({"amount": 1})
        print(f"{span.get_span_context().trace_id:032x}", flush=True)
        for line in sys.stdin:
            print(env.step({"amount": 2}).observation["count"], flush=True)
`;
const STOCK = `
import sys
from openenv.core import GenericEnvClient

with GenericEnvClient(base_url=sys.argv[1]).sync() as env:
    env.reset()
    print(env.step({"amount": 3, "metadata": {"traceparent": sys.argv[2]}}).observation["count"])
`;

function runPython(script: string, args: string[], variables: Record<string, string>): [ChildProcess, Interface] {
  const PYTHONPATH = join(import.meta.dirname, "../../../python/src");
  const env = { ...process.env, ...variables, OTEL_SERVICE_NAME: "trainer", PYTHONPATH };
  const child = spawn(python.path, ["-c", script, ...args], { env, stdio: ["pipe", "pipe", "inherit"] });
  return [child, createInterface({ input: child.stdout as NonNullable<ChildProcess["stdout"]> })];
}

async function line(lines: Interface): Promise<string> {
  return ((await once(lines, "line")) as [string])[0];
}

describe.skipIf(!otelcol.available || !python.available)("a collector has one trace", () => {
  interface Disturbed {
    serve: string[];
    isVictim?(pid: string, front: string): boolean;
    /** The text of a span, as it is in `expected`. */
    label(span: ReceivedSpan, all: { spans: ReceivedSpan[]; killed: string; front: string }): string;
    expected: string[];
    /** Spans below the step that are sent before the kill. */
    sent?: string[];
  }

  /** Plays a rollout, kills the process that had its step, plays on, and waits for the spans, which each process sends. */
  async function disturb({ serve, isVictim = () => true, label, expected, sent = [] }: Disturbed): Promise<void> {
    await using collector = await startCollector(otelcol.path);
    await using project = await createProject({ "env.mjs": ENVIRONMENT });
    const { variables } = collector;
    await using server = startCommand([...serve, "--port", "0", ...PLUGIN], { cwd: project.dir, env: variables });
    const url = (await server.printed(/at (http:\/\/127\.0\.0\.1:\d+)/))[1] as string;
    const [rollout, lines] = runPython(ROLLOUT, [url], variables);
    const traceId = await line(lines);
    const front = String(server.process.pid);
    const own = async (): Promise<ReceivedSpan[]> =>
      (await collector.spans()).filter((span) => span.traceId === traceId);
    const steps = async () =>
      (await own()).filter(({ name, service, pid }) => {
        return name === "openenv.step" && service === "counter_env" && isVictim(pid, front);
      });
    await expect.poll(steps, { timeout: 20_000 }).toHaveLength(1);
    const [{ pid, spanId }] = (await steps()) as [ReceivedSpan];
    // Spans that end after the step may be exported in a later batch.
    const below = async () => (await own()).filter((span) => span.parentSpanId === spanId).map(({ name }) => name);
    await expect.poll(below, { timeout: 20_000 }).toEqual(expect.arrayContaining(sent));
    process.kill(Number(pid), "SIGKILL");
    rollout.stdin?.write("\n");
    expect(await line(lines)).toBe("3");
    rollout.stdin?.end();
    await once(rollout, "close");
    const labels = async () => {
      const spans = await own();
      return spans.map((span) => label(span, { spans, killed: pid, front }));
    };
    await expect.poll(labels, { timeout: 20_000 }).toEqual(expect.arrayContaining(expected));
  }

  test("of a Python client and the workers, across the kill of a worker", { timeout: 120_000 }, async () => {
    await disturb({
      serve: ["serve", "env.mjs", "--workers", "2", "--journal", "sessions.db"],
      sent: ["openenv.commit"],
      label({ pid, service, name, parentSpanId }, { spans, killed }) {
        const where = service === "trainer" ? "client" : pid === killed ? "killed" : "next";
        const parent = spans.find(({ spanId }) => spanId === parentSpanId)?.name ?? "none";
        return `${where}: ${parentSpanId === "" ? "" : `${parent} > `}${name}`;
      },
      expected: [
        "client: rollout",
        "client: rollout > openenv.reset",
        "client: rollout > openenv.step",
        "killed: openenv.reset > openenv.reset",
        "killed: openenv.step > openenv.step",
        "killed: openenv.step > openenv.commit",
        "next: openenv.step > openenv.step",
        "next: openenv.session > openenv.restore",
        "next: openenv.session > openenv.episode",
      ],
    });
  });

  test("of a Python client, the front and an upstream, across the kill of the upstream", {
    timeout: 120_000,
  }, async () => {
    const upstream = `"${process.execPath}" "${BIN}" serve env.mjs ${PLUGIN.join(" ")}`;
    await disturb({
      serve: ["serve", "--upstream", upstream, "--processes", "2", "--replay"],
      isVictim: (pid, front) => pid !== front,
      label({ pid, service, name }, { killed, front }) {
        const where = service === "trainer" ? "client" : pid === front ? "front" : pid === killed ? "killed" : "next";
        return `${where} ${name}`;
      },
      expected: [
        "client rollout",
        ...["client", "front", "killed", "next"].map((where) => `${where} openenv.step`),
        "front openenv.session",
      ],
    });
  });

  test("of a client that only sends metadata: the released one", { timeout: 60_000 }, async () => {
    await using collector = await startCollector(otelcol.path);
    await using project = await createProject({ "env.mjs": ENVIRONMENT });
    const options = {
      cwd: project.dir,
      env: { ...collector.variables, OTEL_TRACES_SAMPLER: "parentbased_always_off" },
    };
    await using server = startCommand(["serve", "env.mjs", "--port", "0", ...PLUGIN], options);
    const url = (await server.printed(/at (http:\/\/127\.0\.0\.1:\d+)/))[1] as string;
    const [client, lines] = runPython(STOCK, [url, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"], {});
    expect(await line(lines)).toBe("3");
    await once(client, "close");
    await expect.poll(() => collector.spans(), { timeout: 20_000 }).toHaveLength(1);
    expect(await collector.spans()).toMatchObject([
      { name: "openenv.step", parentSpanId: "00f067aa0ba902b7", attributes: { "openenv.step": "1" } },
    ]);
  });
});
