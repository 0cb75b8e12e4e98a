/** Tells the bench where a server listens, and lets it ask for a collection before it reads the memory. */
export function ready(port) {
  if (globalThis.gc) {
    process.on("SIGUSR2", () => {
      globalThis.gc();
      globalThis.gc();
    });
  }
  process.stdout.write(`READY ${port}\n`);
}
