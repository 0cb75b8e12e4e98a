import "./collect-on-signal.mjs";

/** Tells the bench where a server listens. */
export function ready(port) {
  process.stdout.write(`READY ${port}\n`);
}
