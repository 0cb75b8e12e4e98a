import "./collect-on-signal.mjs";

/** Tells the benchmark the port of a server. */
export function ready(port) {
  process.stdout.write(`READY ${port}\n`);
}
