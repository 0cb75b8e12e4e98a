/** Replaces `ws`, which the client loads only outside of browsers. */
export const WebSocket = undefined;
