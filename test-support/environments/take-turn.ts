import { once } from "node:events";
import { createServer } from "node:net";

/**
 * A lock between test files, for tests that need exclusive access to `what`, such as a node of a scheduler. Resolves
 * with a function that releases it; the end of the process releases it, too. Linux only.
 */
export async function takeTurn(what: string): Promise<() => Promise<void>> {
  for (;;) {
    const server = createServer();
    try {
      // An abstract socket, not a file: it leaves nothing behind.
      await once(server.listen(`\0openenv-test-${what}`), "listening");
      return async () => {
        server.close();
        await once(server, "close");
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}
