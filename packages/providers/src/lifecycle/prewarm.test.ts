import { afterEach, expect, test } from "vitest";
import { useServers } from "../../../../test-support/servers/servers.js";
import type { Provider, StartSpec } from "../provider.js";
import { closePrewarmed, startPrewarmed } from "./prewarm.js";
import { startEnvironment } from "./start.js";

const servers = useServers();
const SPEC: StartSpec = { directory: "." };
afterEach(closePrewarmed);

/** A provider whose starts wait for `open` once `isFree` so many were made. */
async function createGated(isFree: number) {
  const { url } = await servers.start();
  let open = (): void => {};
  const gate = new Promise<void>((resolve) => (open = resolve));
  const counts = { begun: 0, running: 0 };
  const provider: Provider = {
    name: "gated",
    start: (spec) =>
      startEnvironment("gated", spec, async (start) => {
        counts.begun++;
        if (counts.begun > isFree) await gate;
        counts.running++;
        start.onCleanup(() => void counts.running--);
        return { url, logs: async () => "" };
      }),
  };
  return { provider, counts, open };
}

test("who waits for a spare keeps deadline and signal, and leaves the spare to the next", async () => {
  const { provider, counts, open } = await createGated(1);
  await using _ = await startPrewarmed(provider, SPEC, 1);
  await expect(startPrewarmed(provider, { ...SPEC, timeoutMs: 50 }, 1)).rejects.toMatchObject({
    code: "START_TIMEOUT",
    message: expect.stringMatching(/longer than 50 ms: it ended while waiting for a spare/),
  });
  const aborting = startPrewarmed(provider, { ...SPEC, signal: AbortSignal.timeout(50) }, 1);
  await expect(aborting).rejects.toMatchObject({ code: "ABORTED" });
  expect(counts.begun).toBe(2);
  open();
  await using second = await startPrewarmed(provider, SPEC, 1);
  expect((await fetch(`${second.url}/health`)).ok).toBe(true);
});

test("a call that closePrewarmed has overtaken makes no spares any more", async () => {
  const { provider, counts, open } = await createGated(0);
  const starting = startPrewarmed(provider, SPEC, 2);
  await closePrewarmed();
  open();
  await (await starting).close();
  expect(counts).toEqual({ begun: 1, running: 0 });
});

test("a wrong deadline is refused, also when there is a spare", async () => {
  const { provider } = await createGated(9);
  await using _ = await startPrewarmed(provider, SPEC, 1);
  await expect(startPrewarmed(provider, { ...SPEC, timeoutMs: -1 }, 1)).rejects.toMatchObject({
    code: "INVALID_CONFIG",
  });
});
