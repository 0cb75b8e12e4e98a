/** An upstream without sessions, for tests of what starts and watches upstreams: it answers GET /health with its pid. */
import { existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";

const [mode, file] = process.argv.slice(2);
if (mode === "exits" || (mode === "once" && existsSync(file))) {
  console.log("no model file");
  process.exit(3);
}
if (mode === "once") writeFileSync(file, "");
const kept = [];
const routes = {
  "/health": () => ({ pid: process.pid, variables: process.env, args: process.argv.slice(2) }),
  "/exit": () => {
    console.log("the last line");
    setImmediate(() => process.exit(1));
    return {};
  },
  "/leak": () => {
    kept.push(Buffer.alloc(200 * 1024 * 1024, 1));
    return {};
  },
};
console.log(`listens at ${process.env.PORT}`);
if (mode === "silent") setInterval(() => {}, 1_000);
else {
  const server = createServer((request, response) => {
    const route = routes[request.url];
    response.writeHead(route ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(route ? route() : {}));
  });
  server.listen(Number(process.env.PORT), process.env.HOST);
}
