import type { EnvironmentDefinition } from "../../environment/environment.js";
import type { MetadataBody } from "../../protocol/http.js";

/** The body of `GET /metadata`; needs no instance of the environment. */
export async function renderMetadata(definition: EnvironmentDefinition): Promise<MetadataBody> {
  const { contract, readme, author, documentationUrl } = definition;
  return {
    name: contract.name,
    description: contract.description || `${contract.name} environment`,
    readme_content: readme ?? null,
    version: contract.version,
    author: author ?? null,
    documentation_url: documentationUrl ?? null,
    contract: await contract.fingerprint(),
  };
}
