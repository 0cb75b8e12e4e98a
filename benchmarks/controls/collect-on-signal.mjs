/** Lets the benchmark request a garbage collection before it reads the memory; needs --expose-gc. */
if (globalThis.gc) {
  process.on("SIGUSR2", () => {
    globalThis.gc();
    globalThis.gc();
  });
}
