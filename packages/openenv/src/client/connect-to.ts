import type { MetadataBody } from "../protocol/published.js";
import type { ClientContract } from "./contract/contract.js";
import { createEnvClient, type EnvClient } from "./env-client.js";
import type { ConnectOptions } from "./options.js";
import { prepare } from "./prepare.js";
import { createTaskClient } from "./tasks.js";
import type { ExplainExit } from "./transport/exit-reason.js";
import { createSession } from "./transport/session.js";

/**
 * Opens one session of a server, typed by a contract or generic from its `/schema`. `explainLoss` adds the reason to a
 * loss; only the code that started the server knows it.
 */
export async function connectTo(
  url: string | URL,
  contract: ClientContract | undefined,
  { explainLoss, ...options }: ConnectOptions & { explainLoss?: ExplainExit | undefined },
): Promise<EnvClient> {
  const { base, http, open, shape, timeoutMs } = await prepare(url, contract, options);
  return createEnvClient({
    url: base,
    session: await createSession(open, options.signal, explainLoss),
    shape,
    tasks: createTaskClient(http),
    metadata: async () => (await http.get("/metadata")) as MetadataBody,
    timeoutMs,
  });
}
