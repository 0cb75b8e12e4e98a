import { echoWorkload, measureSteps } from "../harness/rate.mjs";

const CONNECTIONS = 32;
const VARIANTS = { ours: ["tools", () => callWorkload], plain: ["echo", () => echoWorkload] };

export const title = "tool calls and plain steps";

export async function run(bench) {
  const [rounds, seconds] = bench.quick ? [2, 1] : [6, 2];
  const samples = await bench.interleave({ ours: rounds, plain: rounds }, (subject) => {
    const [environment, workload] = VARIANTS[subject];
    return bench.withServer("ours", environment, (server) =>
      measureSteps(bench, { subject, server, connections: CONNECTIONS, workload: workload(), warmUp: 1, seconds }),
    );
  });
  const targets = [{ limit: "at least", value: 0.6, of: "plain" }];
  return [{ id: "tools", measure: "call_tool on `/ws`", unit: "per server CPU-second", samples, targets }];
}

/** The echo of the plain steps as a tool. */
const callWorkload = {
  actions: (connection) =>
    echoWorkload
      .actions(connection)
      .map((given) => ({ type: "call_tool", tool_name: "echo_message", arguments: given })),
  check: ({ observation }, { arguments: { message } }) =>
    observation?.result?.data === message && observation.error === null ? undefined : "not the echo",
};
