import type { MetadataBody, SchemaBody } from "../protocol/published.js";
import type { ClientContract } from "./contract/contract.js";
import { type ClientParts, createEnvClient, type EnvClient } from "./env-client.js";
import type { ConnectOptions } from "./options.js";
import { type Prepared, prepare } from "./prepare.js";
import { createTaskClient } from "./tasks.js";
import { createExitExplainer, type WaitForExit } from "./transport/exit-reason.js";
import { ClientSession } from "./transport/session.js";

export { createHttpClient } from "./transport/http.js";

/**
 * Opens one session of a server, typed by a contract or generic from its `/schema`. `ended` adds the reason to a
 * loss; only the code that started the server knows it.
 */
export async function connectTo(
  url: string | URL,
  contract: ClientContract | undefined,
  { ended, ...options }: ConnectOptions & { ended?: WaitForExit | undefined },
): Promise<EnvClient> {
  const prepared = await prepare(url, contract, options);
  const explain = ended && createExitExplainer({ url: String(url), ended });
  const session = new ClientSession({ ...prepared, explain }, await prepared.open(options.signal));
  return createEnvClient(partsOf(prepared, session));
}

/** The parts of a client of a server. */
export function partsOf({ base, http, shape }: Prepared, session: ClientSession): ClientParts {
  const metadata = async () => (await http.get("/metadata")) as MetadataBody;
  const schemas = async () => (await http.get("/schema")) as SchemaBody;
  return { url: base, session, shape, tasks: createTaskClient(http), metadata, schemas };
}
