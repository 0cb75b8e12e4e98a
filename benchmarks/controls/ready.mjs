import "./collect-on-signal.mjs";

/** Reports the port of a server to the benchmark. */
export function ready(port) {
  process.stdout.write(`READY ${port}\n`);
}
