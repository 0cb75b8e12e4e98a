import type { Socket } from "node:net";

/**
 * Stops reading a socket that is about to be given to another process. What Node reads between the sending and its
 * confirmation is thrown away, and no public method stops the handle itself: `pause` only stops the stream above it.
 */
export function stillSocket(socket: Socket): Socket {
  (socket as unknown as { _handle?: { readStop?(): void } })._handle?.readStop?.();
  return socket;
}
