import type { Owner } from "./owner.js";

/** Something that a provider started and that still runs, on this machine or on the engine that was asked. */
export interface Orphan {
  /** A short name, unique at its provider. */
  id: string;
  provider: string;
  /** The image, folder or repository. */
  source: string;
  /** Where it answers, when that is known. */
  url: string | undefined;
  /** ISO 8601. */
  startedAt: string;
  owner: Owner;
  /** Ends it, at once. Nothing happens when it is gone. */
  remove(): Promise<void>;
}

/** Finds what one provider started, by its label or record, and nothing else. */
export interface OrphanFinder {
  /** @throws ProviderError PROVIDER_UNAVAILABLE when there is nobody to ask. */
  list(): Promise<Orphan[]>;
}
