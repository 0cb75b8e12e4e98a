/** Every way to name a session, at a server that shares a journal in Redis with the one that has it. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startRedis } from "../../../test-support/journals/redis.js";
import { requireRedis } from "../../../test-support/requirement.js";
import { startCluster, type TestCluster } from "../../../test-support/servers/cluster.js";
import { WAYS } from "../../../test-support/sessions/ways-to-name.js";

const component = await requireRedis();

describe.skipIf(!component.available)("at a server that shares the journal", () => {
  let redis: Awaited<ReturnType<typeof startRedis>>;
  let holder: TestCluster;
  let other: TestCluster;
  beforeAll(async () => {
    redis = await startRedis(component.path);
    holder = await startCluster({ JOURNAL: redis.url, MAX_CONCURRENT_ENVS: "64", WORKERS: "2" });
    other = await startCluster({ JOURNAL: redis.url, MAX_CONCURRENT_ENVS: "64", WORKERS: "1" });
  });
  afterAll(async () => {
    await holder?.[Symbol.asyncDispose]();
    await other?.[Symbol.asyncDispose]();
    await redis?.[Symbol.asyncDispose]();
  });

  test.each(Object.entries(WAYS))("a session of another server is named by %s", async (_way, way) => {
    const name = await way.open(holder.url);
    expect(await way.use(other.url, name)).toBe(way.expected.otherServer);
  });
});
