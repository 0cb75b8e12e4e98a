/** The OpenTelemetry Collector: it receives spans over OTLP, and writes them to a file. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePort } from "openenv-ts/internal";

export interface ReceivedSpan {
  name: string;
  /** `service.name` of the process that made it. */
  service: string;
  traceId: string;
  spanId: string;
  parentSpanId: string;
  pid: string;
  attributes: Record<string, string>;
}

type Value = Record<string, unknown>;
interface Attributed {
  attributes?: { key: string; value: Value }[];
}
interface Exported {
  resourceSpans: {
    resource: Attributed;
    scopeSpans: {
      spans: (Omit<ReceivedSpan, "attributes" | "parentSpanId"> & Attributed & { parentSpanId?: string })[];
    }[];
  }[];
}

export interface Collector extends AsyncDisposable {
  /** The variables of a process that sends its spans there, each as soon as it ends. */
  readonly variables: Record<string, string>;
  spans(): Promise<ReceivedSpan[]>;
}

export async function startCollector(path: string): Promise<Collector> {
  const folder = await mkdtemp(join(tmpdir(), "otelcol-"));
  const port = await findFreePort();
  const file = join(folder, "spans.jsonl");
  const config = `
receivers: { otlp: { protocols: { http: { endpoint: "127.0.0.1:${port}" } } } }
exporters: { file: { path: ${JSON.stringify(file)}, flush_interval: 100ms } }
service:
  telemetry: { metrics: { level: none } }
  pipelines: { traces: { receivers: [otlp], exporters: [file] } }
`;
  await writeFile(join(folder, "config.yaml"), config);
  const child = spawn(path, ["--config", join(folder, "config.yaml")], { stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  for await (const chunk of child.stderr.iterator({ destroyOnReturn: false })) {
    log += String(chunk);
    if (log.includes("Everything is ready")) break;
  }
  if (!log.includes("Everything is ready")) throw new Error(`the collector did not start: ${log}`);
  child.stderr.resume();
  return {
    variables: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`, OTEL_BSP_SCHEDULE_DELAY: "50" },
    async spans() {
      const text = await readFile(file, "utf8").catch(() => "");
      const lines = text
        .slice(0, text.lastIndexOf("\n") + 1)
        .split("\n")
        .filter(Boolean);
      return lines.flatMap((line) => read(JSON.parse(line) as Exported));
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await once(child, "close");
      await rm(folder, { recursive: true });
    },
  };
}

function read({ resourceSpans }: Exported): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const about = attributesOf(resource);
    const own = { service: String(about["service.name"]), pid: String(about["process.pid"]) };
    return scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({ parentSpanId: "", ...span, ...own, attributes: attributesOf(span) })),
    );
  });
}

function attributesOf({ attributes = [] }: Attributed): Record<string, string> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, String(Object.values(value)[0])]));
}
