import { DiagLogLevel, diag, type ProxyTracerProvider, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { definePlugin, type ServerHandle } from "openenv-ts/plugin";
import { SessionTrace } from "./session-trace.js";

const PROTOCOL = "http/protobuf";

/**
 * Traces of sessions, episodes and requests with OpenTelemetry. Where the program has no SDK, this starts a small one that
 * exports over HTTP, and reads the variables `OTEL_*`.
 */
// biome-ignore lint/style/noDefaultExport: the command line loads the default export of a plugin.
export default definePlugin({
  name: "otel",
  start: (server) => startSdk(server),
  session: (session, opener, server) => new SessionTrace(session, opener, server),
});

/** The SDK that this plugin has started, for all servers of the process. */
let started: BasicTracerProvider | undefined;

/** @throws Error for a protocol that the exporter does not speak. */
function startSdk({ environment, log }: ServerHandle): AsyncDisposable | undefined {
  const { env } = process;
  if (started !== undefined) return flushing(started);
  const hasSdk = (trace.getTracerProvider() as ProxyTracerProvider).getDelegateTracer("openenv-ts") !== undefined;
  if (hasSdk || env["OTEL_SDK_DISABLED"] === "true" || env["OTEL_TRACES_EXPORTER"] === "none") return undefined;
  const protocol = env["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"] ?? env["OTEL_EXPORTER_OTLP_PROTOCOL"] ?? PROTOCOL;
  if (protocol !== PROTOCOL) {
    throw new Error(`it exports with ${PROTOCOL}, not ${protocol}: change the variable, or start an SDK with --import`);
  }
  const warn = (text: string): void => {
    // The exporter writes an error as JSON, with its stack.
    const message = /"message":"([^"]+)"/.exec(text)?.[1] ?? text;
    log.warn({}, `OpenTelemetry: ${message}`);
  };
  diag.setLogger({ error: warn, warn, info() {}, debug() {}, verbose() {} }, DiagLogLevel.WARN);
  started = new BasicTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ "service.name": environment, "process.pid": process.pid }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  trace.setGlobalTracerProvider(started);
  return flushing(started);
}

/** The provider stays, because another server of this process may still use it. */
function flushing(provider: BasicTracerProvider): AsyncDisposable {
  return { [Symbol.asyncDispose]: () => provider.forceFlush() };
}
