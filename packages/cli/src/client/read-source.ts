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

/** What a client is made from. */
export interface ClientSource {
  schemas: SchemaBody;
  names: Names;
  /** Of the environment; the client has the same. */
  version: string;
  /** The environment's own folder, which has room for its Python package; undefined for a server or a lone file. */
  folder: string | undefined;
}

const VERSION = "0.1.0";

/**
 * Reads a server's URL, or a folder, module or file of schemas. Without `name` the client is called as the environment.
 * @throws ConfigError when it cannot be read, or has no name that a package can have.
 */
export async function readSource(source: string, name: string | undefined): Promise<ClientSource> {
  const called = name === undefined ? undefined : parseName(name);
  if (isUrl(source)) {
    const schemas = await readSchemas(source);
    const { name: theirs, version } = await readMetadata(source);
    return { schemas, names: called ?? nameAfter(theirs), version: versionOf(version), folder: undefined };
  }
  const file = await findEnvironment(source);
  const folder = existsSync(join(resolve(source), MANIFEST_FILE)) ? resolve(source) : undefined;
  const manifest = folder === undefined ? undefined : await findManifest(folder);
  if (file.endsWith(".json")) {
    if (called === undefined) throw new ConfigError(`${source} has no name; give one with --name.`);
    return { schemas: await readSchemas(source), names: called, version: VERSION, folder: undefined };
  }
  const { contract } = await loadEnvironment(file);
  return {
    schemas: contract.schemas(),
    names: called ?? nameAfter(manifest?.name ?? contract.name),
    version: versionOf(manifest?.version),
    folder,
  };
}

async function readMetadata(url: string): Promise<Partial<MetadataBody>> {
  try {
    return (JSON.parse(await download(url, "metadata")) ?? {}) as Partial<MetadataBody>;
  } catch {
    // A server need not have it; it has a name all the same, or is asked for one.
    return {};
  }
}

/** Servers in Python are called as their class: `EchoEnvironment`. */
function nameAfter(theirs: unknown): Names {
  if (typeof theirs !== "string" || !/[A-Za-z]/.test(theirs)) {
    throw new ConfigError("The server does not say what it is called; give its client a name with --name.");
  }
  return parseName(suggestName(theirs.replace(/environment$/i, "Env")));
}

/** What both npm and pip take. */
function versionOf(version: unknown): string {
  return typeof version === "string" && /^\d+\.\d+\.\d+$/.test(version) ? version : VERSION;
}
