import { RemoteError } from "../../errors.js";
import type { MetadataBody, SchemaBody } from "../../protocol/published.js";
import type { HttpClient } from "../transport/http.js";
import type { ClientContract } from "./contract.js";

/**
 * Compares the contract with the server's: by hash if the server publishes one, otherwise field by field.
 * A server without these routes passes.
 * @throws ContractMismatchError naming the fields that break.
 */
export async function checkContract(contract: ClientContract, url: string, http: HttpClient): Promise<void> {
  const metadata = await fetchMetadata(http);
  const { hash } = await contract.fingerprint();
  if (metadata?.contract?.hash === hash) return;
  const schema = await fetchSchema(http);
  if (!schema) return;
  const { compareSchemas } = await import("./compare-schemas.js");
  compareSchemas(contract, { url, name: metadata?.name, schema });
}

/** The metadata of the environment; undefined when the server has no such route. */
async function fetchMetadata(http: HttpClient): Promise<MetadataBody | undefined> {
  return (await optional(http.get("/metadata"))) as MetadataBody | undefined;
}

/** The server's schemas; undefined when it has no such route. */
export async function fetchSchema(http: HttpClient): Promise<SchemaBody | undefined> {
  return (await optional(http.get("/schema"))) as SchemaBody | undefined;
}

async function optional<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof RemoteError && error.details["status"] === 404) return undefined;
    throw error;
  }
}
