import type { BurstMode, LoadGenerator, ResultFiles, ServerLocation } from "@openenv-ts/bench";
import type { JsonObject } from "openenv-ts/protocol";

/** The options of `openenv bench`; times are in seconds. */
export interface BenchFlags {
  url?: string;
  urls?: string[];
  requests?: number;
  wait?: number;
  requestsGrid: number[];
  waitGrid: number[];
  reps: number;
  mode: BurstMode;
  compare?: boolean;
  /** The commands that start the servers, one for each URL. */
  cold?: string[];
  throughput?: boolean;
  connectionsGrid: number[];
  seconds: number;
  /** Sessions that step as those of a trainer do, the average seconds between their steps, and for how long. */
  sessions?: number;
  think?: number;
  for?: number;
  action?: JsonObject;
  timeout: number;
  processes?: number;
  expectedHosts?: number;
  requireHosts?: boolean;
  hardware?: string;
  outputDir?: string;
  json?: boolean;
  verbose?: boolean;
}

/** What bursts and closed loops have in common. */
export interface BenchRun {
  servers: ServerLocation[];
  modes: BurstMode[];
  hardware: string;
  cores: number | null;
  generator: LoadGenerator;
  files: ResultFiles;
  /** Starts the server of a burst, with --cold; resolves with what stops it. */
  start: ((server: ServerLocation) => Promise<() => Promise<void>>) | undefined;
  /** Aborted by Ctrl-C. */
  signal: AbortSignal;
  /** Makes a single request. @throws Error with a remedy when the request fails. */
  checkSubject(server: ServerLocation, mode: BurstMode): Promise<void>;
}
