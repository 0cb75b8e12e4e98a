import { randomUUID } from "node:crypto";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { ProviderError } from "openenv-ts";
import { isObject } from "openenv-ts/internal";
import { OWNER, type Owner, processStart } from "../orphans/owner.js";
import { stateDir } from "../orphans/state-dir.js";

/** The record of a started process group, for a later process to find. */
export interface ProcessRecord {
  id: string;
  provider: string;
  source: string;
  url: string | undefined;
  startedAt: string;
  /** The leader of the group. */
  pid: number;
  pidStart: string;
  owner: Owner;
}

/** The record of a process group that this process has just started. */
export function createRecord(pid: number, { provider, source }: { provider: string; source: string }): ProcessRecord {
  return {
    id: randomUUID(),
    provider,
    source,
    url: undefined,
    startedAt: new Date().toISOString(),
    pid,
    pidStart: processStart(pid) ?? "",
    owner: OWNER,
  };
}

/** The records of one user on one machine. */
function recordsDir(): string {
  return join(stateDir(), "processes");
}

/** Synchronous, so that no process runs without a record. @throws ProviderError when the folder cannot be written. */
export function writeRecord(record: ProcessRecord): void {
  const dir = recordsDir();
  const file = join(dir, `${record.id}.json`);
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    writeFileSync(`${file}.new`, JSON.stringify(record), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch (error) {
    throw new ProviderError(
      "PROVIDER_UNAVAILABLE",
      `Cannot record the started process: ${(error as Error).message}. Set OPENENV_STATE_DIR to a writable folder.`,
      { cause: error },
    );
  }
}

export function removeRecord(id: string): Promise<void> {
  return rm(join(recordsDir(), `${id}.json`), { force: true });
}

/** All readable records; other files in the folder are ignored. */
export async function readRecords(): Promise<ProcessRecord[]> {
  const dir = recordsDir();
  const files = await readdir(dir).catch(() => []);
  const records = await Promise.all(
    files.filter((file) => file.endsWith(".json")).map((file) => read(join(dir, file))),
  );
  return records.filter((record) => record !== undefined);
}

async function read(file: string): Promise<ProcessRecord | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(file, "utf8"));
    return isRecord(value) && value.owner.host === OWNER.host ? value : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is ProcessRecord {
  if (!isObject(value) || !isObject(value["owner"])) return false;
  // kill() treats 0, 1 and negative numbers as many processes.
  return typeof value["pidStart"] === "string" && Number.isInteger(value["pid"]) && Number(value["pid"]) > 1;
}
