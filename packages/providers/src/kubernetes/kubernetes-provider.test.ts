import { kubernetesProvider } from "@openenv-ts/providers";
import { expect, test } from "vitest";
import { ask } from "./cluster.js";

test.each([
  { reach: "nodeport" },
  { memory: "lots" },
  { gpus: 0 },
  { containerPort: 0 },
  { labels: { "openenv.owner": "me" } },
  { reach: { ingressHost: "a host" } },
])("invalid options are rejected: %o", (options) => {
  expect(() => kubernetesProvider(options as object)).toThrow(Object.keys(options)[0]?.slice(0, 5));
});

test("a request that the API server never answers ends at its time limit", async () => {
  const message = "The Kubernetes API server does not answer: timed out after 50 ms.";
  await expect(ask(new Promise(() => {}), 50)).rejects.toMatchObject({ code: "PROVIDER_UNAVAILABLE", message });
});
