import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Fleet, type FleetOptions, startFleet } from "@openenv-ts/upstream";
import { afterEach } from "vitest";

const PROGRAM = fileURLToPath(new URL("health-upstream.mjs", import.meta.url));
export const COMMAND = `"${process.execPath}" "${PROGRAM}"`;
export const TINY = fileURLToPath(new URL("tiny_upstream.py", import.meta.url));
export const NEVER = new AbortController().signal;

export interface LogLine {
  message: string;
  [field: string]: unknown;
}

const open: (() => Promise<unknown>)[] = [];

/** Returns what starts a fleet, which is closed after the test, and keeps its log. */
export function createFleets(): (options: Omit<FleetOptions, "log">) => Promise<{ fleet: Fleet; lines: LogLine[] }> {
  afterEach(async () => {
    for (let close = open.pop(); close; close = open.pop()) await close();
  });
  return async (options) => {
    const lines: LogLine[] = [];
    const add = (fields: object, message: string): number => lines.push({ ...fields, message });
    const fleet = await startFleet({ ...options, log: { debug: add, info: add, warn: add, error: add } });
    open.push(async () => fleet[Symbol.asyncDispose]());
    return { fleet, lines };
  };
}

export async function createFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "upstreams-"));
  open.push(() => rm(folder, { recursive: true }));
  return folder;
}

/** A server in this process that answers GET /health. */
export async function serveHealth(port = "0"): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((_request, response) => response.end("{}")).listen(Number(port), "127.0.0.1");
  await once(server, "listening");
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  open.push(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

export async function health(url: string): Promise<{ pid: number; variables: Record<string, string>; args: string[] }> {
  return (await fetch(`${url}/health`)).json() as never;
}

export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
