import { once } from "node:events";
import { createServer } from "node:net";

/** These are below the ephemeral ports of Linux, macOS and Windows: the system gives them to no other socket. */
const LOWEST = 24_000;
const COUNT = 8_000;
const TRIES = 100;
/**
 * Processes with consecutive numbers start this many ports apart, so that 500 of them choose different ones until their
 * programs listen, which takes seconds. A process that needs more takes them from the 8,000 ports below.
 */
const APART = 16;
let calls = 0;

/**
 * A port of the host that is free at this moment, for programs that cannot choose one themselves.
 * @throws the system's error when nothing can listen at this host.
 */
export async function findFreePort(host = "127.0.0.1"): Promise<number> {
  for (let tries = 1; ; tries++) {
    const port = LOWEST - (calls < APART ? 0 : COUNT) + ((process.pid * APART + calls++) % COUNT);
    try {
      await probePort(host, port);
      return port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE" || tries === TRIES) throw error;
    }
  }
}

/** Rejects with the system's error when this process cannot listen at the port. */
export async function probePort(host: string, port: number): Promise<void> {
  const server = createServer().listen(port, host);
  await once(server, "listening");
  server.close();
  await once(server, "close");
}
