/** What one interpreter of one session may use. */
export interface Limits {
  /** Seconds a step may run. */
  timeoutSeconds: number;
  /** Characters of stdout and of stderr that are kept. */
  maxOutputLength: number;
  /** Address space of each Python process, and the heap of QuickJS. */
  memoryBytes: number;
  /** Processes and threads of Python together. */
  processes: number;
}

/** Size of a file, and of all temporary files together. */
export const FILE_BYTES = 64 * 1024 * 1024;
