/** Stands in for `ws`, which the client loads outside of browsers only. */
export const WebSocket = undefined;
