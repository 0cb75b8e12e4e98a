import type { BurstMode, LoadGenerator, ResultFiles, ServerLocation } from "@openenv-ts/bench/internal";
import type { JsonObject } from "openenv-ts/protocol";

/** What the command line of `openenv bench` gives; times are seconds. */
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
  throughput?: boolean;
  connectionsGrid: number[];
  seconds: number;
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

/** What bursts and closed loops share. */
export interface BenchRun {
  servers: ServerLocation[];
  modes: BurstMode[];
  hardware: string;
  cores: number | null;
  generator: LoadGenerator;
  files: ResultFiles;
  /** Aborted by Ctrl-C. */
  signal: AbortSignal;
  /** Makes a single request. @throws Error when the server refuses it, with what to do. */
  checkSubject(server: ServerLocation, mode: BurstMode): Promise<void>;
}
