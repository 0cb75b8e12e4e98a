/** Every way to name a session of a server with two workers: the session is found, or the answer says why not. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SessionsBody } from "#core/protocol/http.js";
import { createProject, type Project } from "../../../test-support/commands/command-line.js";
import { AS_OPERATOR, fetchAsOperator } from "../../../test-support/operator.js";
import { startCluster, type TestCluster } from "../../../test-support/servers/cluster.js";
import { WAYS } from "../../../test-support/sessions/ways-to-name.js";

/** Enough that each of two workers accepts some. */
const CONNECTIONS = 8;

let project: Project;
let cluster: TestCluster;
beforeAll(async () => {
  project = await createProject();
  const journal = join(project.dir, "sessions.journal");
  cluster = await startCluster({ JOURNAL: journal, MAX_CONCURRENT_ENVS: "64", WORKERS: "2" });
});
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  await project?.[Symbol.asyncDispose]();
});

/** Ends all sessions. A busy worker is missing in the list, so it is read again. */
async function endAll(url: string): Promise<void> {
  const list = async () => ((await (await fetchAsOperator(`${url}/sessions`)).json()) as SessionsBody).sessions;
  const end = async () => {
    for (const { session_id } of await list()) {
      await fetch(`${url}/sessions/${session_id}`, { method: "DELETE", headers: AS_OPERATOR });
    }
    return (await list()).length;
  };
  await expect.poll(end).toBe(0);
}

describe.each(Object.entries(WAYS))("a session named by %s", (_way, { open, use, unknown, expected }) => {
  let name: string;
  beforeAll(async () => {
    name = await open(cluster.url);
  });

  test("is found here and at the other worker", async () => {
    for (let nth = 0; nth < CONNECTIONS; nth++) expect(await use(cluster.url, name)).toBe("found");
  });

  test("is unknown", async () => {
    for (let nth = 0; nth < CONNECTIONS; nth++) expect(await use(cluster.url, unknown)).toBe(expected.unknown);
  });

  test("has been lost", async () => {
    await endAll(cluster.url);
    for (let nth = 0; nth < CONNECTIONS; nth++) expect(await use(cluster.url, name)).toBe(expected.lost);
  });
});
