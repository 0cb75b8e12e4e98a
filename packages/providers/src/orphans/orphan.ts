import type { Owner } from "./owner.js";

/** Something that a provider started and that still runs, on this machine or on the engine that was searched. */
export interface Orphan {
  /** A short name, unique for its provider. */
  id: string;
  provider: string;
  /** The image, folder or repository. */
  source: string;
  /** Its URL, if known. */
  url: string | undefined;
  /** ISO 8601. */
  startedAt: string;
  owner: Owner;
  /** Stops and removes it at once; does nothing when it is gone. */
  remove(): Promise<void>;
}

/** Finds what one provider started, by its label or record. */
export interface OrphanFinder {
  /** @throws ProviderError PROVIDER_UNAVAILABLE when the engine, scheduler or cluster is not available. */
  list(): Promise<Orphan[]>;
}
