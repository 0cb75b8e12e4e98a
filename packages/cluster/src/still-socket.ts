import type { Socket } from "node:net";

interface Handle {
  readStop(): void;
  close(): void;
}

/**
 * Stops reading a socket before it is sent to another process. Node discards data that it reads between the sending and
 * its confirmation, and no public method stops the handle itself: `pause` only stops the stream above it.
 */
export function stillSocket(socket: Socket): Socket {
  handleOf(socket)?.readStop();
  return socket;
}

/** What a socket that is being sent to another process loses; it can be closed more than once. */
export function handleOf(socket: Socket): Handle | undefined {
  return (socket as unknown as { _handle?: Handle | null })._handle ?? undefined;
}
