import type { Language } from "../models.js";
import type { Limits } from "./limits.js";

/** How a process is started, decided once when the server starts. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  /** Bubblewrap runs it, which says which process is the first one inside. */
  readonly contained: boolean;
  /** The process gets a uid that nothing else on the machine has: before it is started, or by its driver. */
  readonly ownUid: "before" | "driver" | "none";
  readonly language: Language;
  readonly limits: Limits;
}
