/** Many clients and proxies close a request that is silent for 60 s. */
const PROGRESS_MS = 10_000;

/** Calls `send` with the seconds since the call began, again and again until the returned function is called. */
export function reportProgress(send: (progress: number) => void): () => void {
  let progress = 0;
  const timer = setInterval(() => {
    progress += PROGRESS_MS / 1000;
    send(progress);
  }, PROGRESS_MS);
  return () => clearInterval(timer);
}
