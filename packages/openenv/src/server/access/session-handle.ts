import { createHmac } from "node:crypto";

const LENGTH = 12;

/**
 * The public name of a session, for addresses and logs. It opens nothing: an id has 122 random bits and cannot be
 * recovered from its hash. It needs no key, so all workers of a server give the same one, also after a restart. Sessions of a
 * batch have the name of the batch, with their numbers.
 */
export function handleOf({
  id,
  batchId,
  member,
}: {
  id: string;
  batchId?: string | undefined;
  member?: number | undefined;
}): string {
  const hash = createHmac("sha256", batchId ?? id)
    .update("openenv session handle")
    .digest("base64url");
  return hash.slice(0, LENGTH) + (batchId === undefined ? "" : `.${member}`);
}
