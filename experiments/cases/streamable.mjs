import { createHttpLoad } from "../http-load.mjs";
import { measureRate } from "../rate.mjs";

const CONNECTIONS = 32;

export const title = "MCP over Streamable HTTP, and plain JSON-RPC";

export async function run(bench) {
  const [rounds, seconds] = bench.quick ? [2, 1] : [6, 2];
  const kinds = { ours: "mcp", plain: "rpc" };
  const samples = await bench.interleave({ ours: rounds, plain: rounds }, (subject) =>
    measureCalls(bench, { subject, server: "ours", environment: "tools", kind: kinds[subject], seconds }),
  );
  const targets = [{ limit: "at least", value: 0.33, of: "plain" }];
  return [
    { id: "streamable", measure: "tools/call of MCP over HTTP", unit: "per server CPU-second", samples, targets },
  ];
}

/** Calls per CPU-second of a separate server, after a second of warm-up. */
export function measureCalls(bench, { subject, server: name, environment, kind, seconds }) {
  return bench.withServer(name, environment, async (server) => {
    const load = await createHttpLoad({ url: server.url, connections: CONNECTIONS, kind });
    try {
      await load.call(1);
      return await measureRate(bench, { subject, server, work: () => load.call(seconds) });
    } finally {
      await load.close();
    }
  });
}
