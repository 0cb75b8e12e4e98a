import { findDifferences } from "../replay/compare.js";
import { Ids } from "../replay/ids.js";
import type { ClientRecording, RecordedAnswer } from "../replay/load.js";
import type { PythonServers } from "./python-servers.js";

/** What a client plays with where it is not the counter. */
const PLAYED: Readonly<Record<string, string>> = {
  "client/mcp/full": "tools",
  "client/mcp/capacity": "tools",
  "validator/runtime/mcp": "tools",
  "validator/url/production": "counter-production",
};

/** Plays a recorded case of the Python clients with a server of its own. */
export async function playClient(
  row: ClientRecording,
  servers: PythonServers,
): Promise<{ answer: RecordedAnswer; differences: string[] }> {
  const name = PLAYED[row.case] ?? "counter";
  const server = await servers.start(name, { maxConcurrentEnvs: name === "tools" ? 2 : 1 });
  const results = JSON.stringify(await server.playClient(row.case));
  const answer: RecordedAnswer = { client_results: JSON.parse(hideHosts(results)) };
  if (row.server_saw) {
    // The recorded connections were counted over the cases that were played with one server.
    const before = (row.server_saw[0]?.n ?? 1) - 1;
    answer["server_saw"] = (await server.traffic()).map((seen) => ({ ...seen, n: (seen["n"] as number) + before }));
  }
  await server.close();
  const ids = new Ids();
  ids.learn(row, answer);
  const recorded = ids.reverse(answer);
  return { answer: recorded, differences: findDifferences({ ...row }, recorded) };
}

function hideHosts(text: string): string {
  return text.replaceAll(/127\.0\.0\.1:\d+|'127\.0\.0\.1', \d+/g, "HOST");
}
