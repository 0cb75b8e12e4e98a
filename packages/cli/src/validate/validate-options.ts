import type { Manifest } from "@openenv-ts/providers/manifest";
import type { Level } from "./report/policy.js";

export interface ValidateOptions {
  level: Level;
  policy: string | undefined;
  /** Builds no image: the server runs as a process only. */
  skipBuild: boolean;
  /** Played instead of sampled ones, where the package has no plan. */
  actions: readonly Record<string, unknown>[] | undefined;
  ignore: readonly string[];
  leaveOut: readonly string[];
  rounds: number;
  signal: AbortSignal;
  onProgress(line: string): void;
}

/** What a package says about itself. */
export interface Declared {
  manifest: Manifest;
  validation: NonNullable<Manifest["validation"]>;
}
