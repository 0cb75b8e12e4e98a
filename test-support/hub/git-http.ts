import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";

/** Answers a clone or a fetch of git's smart HTTP protocol with git's own backend. */
export async function serveGit(
  request: IncomingMessage,
  response: ServerResponse,
  { dir, path, query }: { dir: string; path: string; query: string },
): Promise<void> {
  const child = spawn(join(gitFolder(), "git-http-backend"), {
    env: {
      PATH: process.env["PATH"],
      GIT_PROJECT_ROOT: dir,
      GIT_HTTP_EXPORT_ALL: "1",
      PATH_INFO: path,
      QUERY_STRING: query,
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
      GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
      REMOTE_ADDR: "127.0.0.1",
    },
    stdio: ["pipe", "pipe", "ignore"],
  });
  request.pipe(child.stdin).on("error", () => {});
  let head = Buffer.alloc(0);
  let end = -1;
  child.stdout.on("data", (chunk: Buffer) => {
    if (end >= 0) return void response.write(chunk);
    head = Buffer.concat([head, chunk]);
    end = head.indexOf("\r\n\r\n");
    if (end < 0) return;
    for (const line of head.toString("latin1", 0, end).split("\r\n")) {
      const [name = "", value = ""] = line.split(/: (.*)/);
      if (name === "Status") response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.write(head.subarray(end + 4));
  });
  await once(child, "close");
  response.end();
}

let folder: string | undefined;
function gitFolder(): string {
  folder ??= String(execFileSync("git", ["--exec-path"])).trim();
  return folder;
}
