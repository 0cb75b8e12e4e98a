import { createServer } from "node:http";

/** Receives spans over OTLP, and counts those whose name the text of a batch contains. */
export async function startReceiver(name) {
  let count = 0;
  const server = createServer(async (request, response) => {
    for await (const chunk of request) count += countIn(chunk, name);
    response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    get count() {
      return count;
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

/** A name that is in two chunks is not counted. */
function countIn(chunk, name) {
  let found = 0;
  for (let at = chunk.indexOf(name); at >= 0; at = chunk.indexOf(name, at + name.length)) found++;
  return found;
}
