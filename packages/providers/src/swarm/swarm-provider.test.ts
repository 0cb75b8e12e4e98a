import { swarmProvider } from "@openenv-ts/providers";
import { expect, test } from "vitest";

test.each([0, 1.5, -1, 100_000])("%d replicas are refused", async (replicas) => {
  await expect(swarmProvider().start({ image: "a", replicas })).rejects.toThrow(
    `replicas must be an integer from 1 to 1000, got ${replicas}`,
  );
});

test("a folder is refused, and says what to do", async () => {
  await expect(swarmProvider().start({ directory: "." })).rejects.toThrow("openenv build");
});
