import { expect, test } from "vitest";
import { startCluster, untilAllKnow } from "../../../test-support/servers/cluster.js";
import { openTestSocket } from "../../../test-support/sockets/socket.js";

test("visitors of the web interface reach their session and its updates through any worker", async () => {
  await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "4" });
  const ask = async (path: string, body: object, cookie = "") => {
    const response = await fetch(cluster.url + path, {
      method: "POST",
      // A new connection each time, which any worker may accept.
      headers: { "content-type": "application/json", connection: "close", ...(cookie && { cookie }) },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(200);
    const [set] = response.headers.getSetCookie();
    return {
      cookie: set?.split(";")[0] ?? cookie,
      body: (await response.json()) as { observation: { count: number } },
    };
  };
  const visitors = await Promise.all(Array.from({ length: 4 }, async () => (await ask("/web/reset", {})).cookie));
  expect(new Set(visitors).size).toBe(4);
  for (const [nth, cookie] of visitors.entries()) {
    await using page = await openTestSocket(`${cluster.url.replace("http", "ws")}/ws/ui`, { headers: { cookie } });
    expect(await page.receive()).toMatchObject({ episode_state: { step_count: 0 } });
    for (let step = 1; step <= 3; step++) {
      const { body } = await ask("/web/step", { action: { amount: nth + 1 } }, cookie);
      expect(body.observation.count).toBe(step * (nth + 1));
      expect(await page.receive()).toMatchObject({ episode_state: { step_count: step } });
    }
  }
  await untilAllKnow(cluster.url, { active_sessions: 4 });
}, 120_000);
