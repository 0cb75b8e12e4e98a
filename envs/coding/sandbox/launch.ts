import type { Language } from "../models.js";
import type { SandboxLimits } from "./limits.js";

/** How a process is started, decided once when the server starts. */
export interface SandboxLaunch {
  readonly command: string;
  /** Its arguments; `uid` is the sandbox's own, undefined without one. */
  argumentsFor(uid: number | undefined): string[];
  /** Bubblewrap runs it, which says which process is the first one inside. */
  readonly contained: boolean;
  /** The process gets a uid that nothing else on the machine has: before it is started, or by its arguments. */
  readonly ownUid: "before" | "inside" | "none";
  readonly language: Language;
  readonly limits: SandboxLimits;
}
