const POLL_MS = 250;

/**
 * npm and npx hand a signal to their shell, which ends and passes nothing on: what they started notices that it was
 * left alone, and ends as it would by the signal. Started by anything else, a server outlives whoever started it.
 */
export function endWithParent(): void {
  if (process.env["npm_command"] === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, "SIGTERM");
  }, POLL_MS);
  timer.unref();
}
