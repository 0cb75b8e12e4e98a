import { measureRate } from "../rate.mjs";
import { createRpcLoad } from "../rpc-load.mjs";

const CONNECTIONS = 32;

export const title = "calls of tools over POST /mcp";

/** Real MCP of ours beside plain JSON-RPC of ours and of the reference, which speaks no other. */
export async function run(bench) {
  const [rounds, seconds] = bench.quick ? [2, 1] : [6, 2];
  const asked = { ours: rounds, plain: rounds, python: Math.ceil(rounds / 2) };
  const samples = await bench.interleave(asked, (subject) =>
    bench.withServer(subject === "python" ? "python" : "ours", "tools", async (server) => {
      const load = await createRpcLoad({ url: server.url, connections: CONNECTIONS, real: subject === "ours" });
      try {
        await load.call(1);
        return await measureRate(bench, { subject, server, work: () => load.call(seconds) });
      } finally {
        await load.close();
      }
    }),
  );
  return [
    { id: "streamable", measure: "tools/call on `POST /mcp`", unit: "per server CPU-second", samples, targets: [] },
  ];
}
