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
])("wrong options are refused: %o", (options) => {
  expect(() => kubernetesProvider(options as object)).toThrow(Object.keys(options)[0]?.slice(0, 5));
});

test("an API server that takes a request and never answers ends the waiting", async () => {
  const message = "The API server of Kubernetes does not answer: 50 ms are over.";
  await expect(ask(new Promise(() => {}), 50)).rejects.toMatchObject({ code: "PROVIDER_UNAVAILABLE", message });
});
