/** Makes who waits for a message of a socket fail when the socket closes: `once` rejects with an "error". Returns the socket. */
export function endWithClose(socket) {
  const end = () => socket.emit("error", new Error("the server closed the socket"));
  return socket.on("error", () => {}).once("close", end);
}
