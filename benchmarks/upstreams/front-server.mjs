import { startChild } from "../harness/children.mjs";
import { CLI } from "../harness/clusters.mjs";
import { startServer } from "../harness/servers.mjs";

/** The capacity of the upstream. */
const SESSIONS = 64;

/** Starts the echo environment, and with `front` a front of it; resolves with the server that clients use. */
export async function startSubject(subject) {
  const upstream = await startServer("ours", "echo");
  if (subject === "plain") return upstream;
  try {
    const args = [
      "--upstream",
      upstream.url,
      "--upstream-sessions",
      String(SESSIONS),
      "--port",
      "0",
      "--log-level",
      "warn",
    ];
    const findPort = (text) => / at http:\/\/[^\s:]+:(\d+)/.exec(text)?.[1];
    const front = await startChild([process.execPath, CLI, "serve", ...args], { findPort });
    return { ...front, close: () => Promise.all([front.close(), upstream.close()]) };
  } catch (error) {
    await upstream.close();
    throw error;
  }
}
