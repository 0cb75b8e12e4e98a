import type { Socket } from "node:net";

/**
 * Stops reading a socket before it is sent to another process. Node discards data that it reads between the sending and
 * its confirmation, and no public method stops the handle itself: `pause` only stops the stream above it.
 */
export function stillSocket(socket: Socket): Socket {
  (socket as unknown as { _handle?: { readStop?(): void } })._handle?.readStop?.();
  return socket;
}
