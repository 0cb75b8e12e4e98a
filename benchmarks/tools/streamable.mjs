import { measureLoad } from "../harness/rate.mjs";
import { createHttpLoad } from "./http-load.mjs";

const CONNECTIONS = 32;

export const title = "MCP over Streamable HTTP, and plain JSON-RPC";

export async function run(bench) {
  const rounds = bench.quick ? 2 : 6;
  const kinds = { ours: "mcp", plain: "rpc" };
  const samples = await bench.interleave({ ours: rounds, plain: rounds }, (subject) =>
    measureCalls(bench, { subject, server: "ours", environment: "tools", kind: kinds[subject] }),
  );
  const targets = [{ limit: "at least", value: 0.33, of: "plain" }];
  return [
    { id: "streamable", measure: "tools/call of MCP over HTTP", unit: "per server CPU-second", samples, targets },
  ];
}

/**
 * Calls per CPU-second of a separate server. Calls are counted and not timed: on a busy machine a second of warm-up is too
 * short for V8 to compile a server, and longer for the control than for ours.
 */
export function measureCalls(bench, { subject, server: name, environment, kind }) {
  const [before, calls] = bench.quick ? [20, 20] : [400, 250];
  return bench.withServer(name, environment, (server) =>
    measureLoad(bench, {
      ...{ subject, server, warmUp: before, length: calls },
      open: () => createHttpLoad({ url: server.url, connections: CONNECTIONS, kind }),
      work: (load, count) => load.call(count),
    }),
  );
}
