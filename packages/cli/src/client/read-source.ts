import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { findManifest, MANIFEST_FILE } from "@openenv-ts/providers/manifest";
import { ConfigError } from "openenv-ts/internal";
import type { MetadataBody, SchemaBody } from "openenv-ts/protocol";
import { download, isUrl } from "../project/download.js";
import { findEnvironment } from "../project/find-environment.js";
import { loadEnvironment } from "../project/load-environment.js";
import { type Names, parseName, suggestName } from "../project/names.js";
import { readSchemas } from "../project/read-schemas.js";

/** The input for generating a client. */
export interface ClientSource {
  schemas: SchemaBody;
  names: Names;
  /** Version of the environment and of the client. */
  version: string;
  /** The folder of the environment, which may contain the Python package; undefined for a server or a single file. */
  folder: string | undefined;
}

const VERSION = "0.1.0";

/**
 * Reads schemas from the URL of a server, or from a folder, module or schema file. Without `name` the client is named
 * after the environment.
 * @throws ConfigError when the source cannot be read, or has no name that is valid for a package.
 */
export async function readSource(source: string, name: string | undefined): Promise<ClientSource> {
  const given = name === undefined ? undefined : parseName(name);
  if (isUrl(source)) {
    const schemas = await readSchemas(source);
    const { name: theirs, version } = await readMetadata(source);
    return { schemas, names: given ?? nameAfter(theirs), version: versionOf(version), folder: undefined };
  }
  const file = await findEnvironment(source);
  const folder = existsSync(join(resolve(source), MANIFEST_FILE)) ? resolve(source) : undefined;
  const manifest = folder === undefined ? undefined : await findManifest(folder);
  if (file.endsWith(".json")) {
    if (given === undefined) throw new ConfigError(`${source} has no name; pass one with --name.`);
    return { schemas: await readSchemas(source), names: given, version: VERSION, folder: undefined };
  }
  const { contract } = await loadEnvironment(file);
  return {
    schemas: contract.schemas(),
    names: given ?? nameAfter(manifest?.name ?? contract.name),
    version: versionOf(manifest?.version),
    folder,
  };
}

async function readMetadata(url: string): Promise<Partial<MetadataBody>> {
  try {
    return (JSON.parse(await download(url, "metadata")) ?? {}) as Partial<MetadataBody>;
  } catch {
    // Metadata is optional for a server. Without a name the user must pass --name.
    return {};
  }
}

/** The names for a server. Python servers report the name of their class: `EchoEnvironment`. */
function nameAfter(theirs: unknown): Names {
  if (typeof theirs !== "string" || !/[A-Za-z]/.test(theirs)) {
    throw new ConfigError("The server does not report a name; pass one for the client with --name.");
  }
  return parseName(suggestName(theirs.replace(/environment$/i, "Env")));
}

/** The version, if both npm and pip accept it. */
function versionOf(version: unknown): string {
  return typeof version === "string" && /^\d+\.\d+\.\d+$/.test(version) ? version : VERSION;
}
