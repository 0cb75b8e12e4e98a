/** What one interpreter of one session may use. */
export interface SandboxLimits {
  /** Seconds a step may run. */
  timeoutSeconds: number;
  /** Characters of stdout and of stderr that are kept. */
  maxOutputLength: number;
  /** Address space of each Python process, and the heap of QuickJS. */
  memoryBytes: number;
  /** Processes and threads of Python together. */
  processes: number;
}

/** What all sandboxes of a server, in all of its workers, may use together, where cgroups can be made. */
export interface TotalLimits {
  memoryBytes: number;
  processes: number;
}

/** Size of a file, and of all temporary files together. */
export const FILE_BYTES = 64 * 1024 * 1024;
/** Number of temporary files, each of which takes some kB of the kernel's memory however small it is. */
export const FILES = 16_384;
