import { type Component, findCommand, findPython } from "../requirement.js";

/** The collector of the folder `otelcol`: `OPENENV_OTELCOL`, else the one on the PATH. */
export function requireOtelcol(): Promise<Component> {
  return findCommand("otelcol", /^otelcol version/, { what: "the OpenTelemetry Collector" });
}

/** A Python with openenv 0.10.0, websockets and OpenTelemetry: `OPENENV_TRACING_PYTHON`, else `python3`. */
export function requireTracing(): Promise<Component> {
  return findPython("tracing", { openenv: "0.10.0", websockets: "", "opentelemetry-exporter-otlp-proto-http": "" });
}
