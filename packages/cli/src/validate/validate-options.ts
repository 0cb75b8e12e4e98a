import type { Manifest } from "@openenv-ts/providers/manifest";
import type { checkServer } from "openenv-ts/testing";
import type { Level } from "./report/policy.js";
import type { Search } from "./semantic/adversary.js";

export type ServerChecking = NonNullable<Parameters<typeof checkServer>[1]>;

export interface ValidateOptions {
  level: Level;
  policy: string | undefined;
  /** Do not build an image; only run the server as a process. */
  skipBuild: boolean;
  /** Used instead of sampled actions, when the package has no plan. */
  actions: readonly Record<string, unknown>[] | undefined;
  ignore: readonly string[];
  leaveOut: readonly string[];
  rounds: number;
  /** The semantic level was requested, so that what is unknown is not a pass. */
  isRequested?: boolean;
  /** File of an oracle, instead of the declared one. */
  oracle?: string | undefined;
  /** A search for reward without success. */
  search?: Search | undefined;
  signal: AbortSignal;
  onProgress(line: string): void;
}

/** What a package declares. */
export interface Declared {
  manifest: Manifest;
  validation: NonNullable<Manifest["validation"]>;
}
