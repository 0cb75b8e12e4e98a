import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Waits until no other test file has the turn for `what`, for those that take something away that there is once, such as
 * a node of a scheduler. Resolves with what ends the turn; a process that ends ends its turn. Linux.
 */
export async function takeTurn(what: string): Promise<() => Promise<void>> {
  for (;;) {
    const server = createServer();
    try {
      // A name, not a file: nothing is left of it.
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
