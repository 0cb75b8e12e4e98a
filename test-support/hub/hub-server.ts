import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as api from "./api.js";
import { serveGit } from "./git-http.js";
import { createRepository, type FileChange } from "./repository.js";

export interface RecordedHubRequest {
  method: string;
  path: string;
  authorization: string | undefined;
}

/** Files by path: bytes, text or a symbolic link. */
export type SpaceFiles = Record<string, string | Buffer | { link: string }>;

export interface SpaceOptions {
  private?: boolean;
  sdk?: string;
  stage?: string;
  host?: string;
}

/**
 * A status with the Hub's kind of body; `"drop"`: the connection breaks in the middle of the request; `"hang"`: there is
 * no answer.
 */
export type HubFailure =
  | "drop"
  | "hang"
  | { status: number; error?: string; headers?: Record<string, string>; body?: unknown };

export interface Hub extends AsyncDisposable {
  /** The value for `HF_ENDPOINT`. */
  readonly url: string;
  /** The token of `author`: can write to the Spaces of `author` and the organisation `crew`. */
  readonly token: string;
  /** The token of `reader`, which cannot write. */
  readonly readToken: string;
  readonly requests: readonly RecordedHubRequest[];
  /** Clears the list of requests. */
  forget(): void;
  addSpace(id: string, files: SpaceFiles, options?: SpaceOptions): Promise<api.StoredSpace>;
  space(id: string): api.StoredSpace | undefined;
  dataset(id: string): api.StoredSpace | undefined;
  /** Makes requests whose `METHOD /path` matches fail, `times` of them (default: all). */
  fail(match: RegExp, failure: HubFailure, times?: number): void;
  /** Answers requests whose `METHOD /path` matches with this body. */
  answer(match: RegExp, body: unknown): void;
  /** Removes all failures and answers. */
  recover(): void;
}

/**
 * A server with the part of the Hub's API for Spaces that the official libraries use, with git repositories that can be
 * cloned over HTTP. Like the Hub it answers 401 for a Space that an anonymous caller may not see.
 */
export async function startHub(): Promise<Hub> {
  const dir = await mkdtemp(join(tmpdir(), "hub-"));
  const accounts = new Map<string, api.Account>([
    ["hf_author", { name: "author", orgs: ["crew"], role: "write" }],
    ["hf_reader", { name: "reader", orgs: [], role: "read" }],
  ]);
  const spaces = new Map<string, api.StoredSpace>();
  const requests: RecordedHubRequest[] = [];
  const failures: { match: RegExp; failure: HubFailure; left: number }[] = [];

  async function addSpace(id: string, files: SpaceFiles, options: SpaceOptions = {}): Promise<api.StoredSpace> {
    const name = `${id.replaceAll("/", "+")}.git`;
    const repository = await createRepository(join(dir, name));
    const changes = Object.entries(files).map(([path, content]): FileChange => {
      if (typeof content === "string" || Buffer.isBuffer(content)) return { path, content: Buffer.from(content) };
      return { path, content: Buffer.from(content.link), link: true };
    });
    await repository.commit("refs/heads/main", undefined, "initial commit", changes);
    const space: api.StoredSpace = {
      id,
      repository,
      private: options.private ?? false,
      sdk: options.sdk ?? "docker",
      stage: options.stage ?? "RUNNING",
      hardware: "cpu-basic",
      host: options.host ?? `https://${api.subdomain(id)}.hf.space`,
      secrets: {},
      variables: {},
      pulls: [],
      large: new Map(),
      async files(revision = "main") {
        const entries = (await repository.tree(revision)).filter(({ type }) => type === "file");
        const read = async (path: string) => [path, String(await repository.read(revision, path))];
        return Object.fromEntries(await Promise.all(entries.map(({ path }) => read(path))));
      },
    };
    spaces.set(id, space);
    return space;
  }

  function account(request: IncomingMessage): api.Account | undefined {
    const [kind, value = ""] = (request.headers.authorization ?? "").split(" ");
    if (!value) return undefined;
    const token = kind === "Basic" ? (Buffer.from(value, "base64").toString().split(":")[1] ?? "") : value;
    const found = accounts.get(token);
    if (!found) throw new api.HubApiError(401, "Invalid username or password.");
    return found;
  }

  function visible(id: string, caller: api.Account | undefined): api.StoredSpace {
    const space = spaces.get(id);
    const owner = (id.split("/")[0] ?? "").replace(DATASET, "");
    if (space && (!space.private || caller?.name === owner || caller?.orgs.includes(owner))) return space;
    if (!caller) throw new api.HubApiError(401, "Invalid username or password.");
    throw new api.HubApiError(404, "Repository not found", { code: "RepoNotFound" });
  }

  function mustWrite(id: string, caller: api.Account | undefined): void {
    const owner = (id.split("/")[0] ?? "").replace(DATASET, "");
    if (!caller) throw new api.HubApiError(401, "Invalid username or password.");
    const own = caller.name === owner || caller.orgs.includes(owner);
    if (caller.role === "write" && own) return;
    throw new api.HubApiError(
      403,
      `You don't have the rights to create or change a space under the namespace "${owner}"`,
    );
  }

  async function answer(request: IncomingMessage, response: ServerResponse, url: URL): Promise<unknown> {
    const method = request.method ?? "GET";
    const caller = account(request);
    const git = /^\/spaces\/([^/]+\/[^/]+?)(?:\.git)?\/(info\/refs|git-upload-pack)$/.exec(url.pathname);
    if (git) {
      const space = visible(git[1] ?? "", caller);
      const call = { dir: space.repository.dir, path: `/${git[2]}`, query: url.search.slice(1) };
      await serveGit(request, response, call);
      return undefined;
    }
    const body = await readBody(request);
    const call: api.HubCall = { origin: url.origin, query: url.searchParams, body };
    if (url.pathname === "/api/whoami-v2") {
      if (!caller) throw new api.HubApiError(401, "Invalid username or password.");
      return api.whoAmI(caller);
    }
    if (url.pathname === "/api/validate-yaml") return { errors: [], warnings: [] };
    if (method === "POST" && url.pathname === "/api/repos/create") return await create(call, caller);
    const path = url.pathname.replace(/^(\/api)?\/datasets\//, `$1/spaces/${DATASET}`);
    const inApi = /^\/api\/spaces\/([^/]+\/[^/]+)(?:\/([^/]+)\/?(.*))?$/.exec(path);
    if (inApi) {
      const handler = api.SPACE_ROUTES[`${method} ${inApi[2] ?? ""}`];
      if (!handler) throw new api.HubApiError(404, "Not Found");
      const space = visible(inApi[1] ?? "", caller);
      if (method !== "GET" && inApi[2] !== "paths-info" && url.searchParams.get("create_pr") !== "1") {
        mustWrite(space.id, caller);
      }
      return await handler(space, inApi[3] ?? "", call);
    }
    const batch = /^\/spaces\/(.+)\.git\/info\/lfs\/objects\/batch$/.exec(path);
    if (batch) return api.lfsBatch(visible(batch[1] ?? "", caller), call);
    const upload = /^\/lfs\/([^/]+\/[^/]+)\/([0-9a-f]{64})$/.exec(url.pathname);
    const target = upload && spaces.get(upload[1] ?? "");
    if (target) return api.storeLarge(target, upload[2] ?? "", body) ?? {};
    const file = /^\/spaces\/([^/]+\/[^/]+)\/(resolve|raw)\/(.+)$/.exec(path);
    if (file) {
      const found = await api.resolveFile(visible(file[1] ?? "", caller), file[3] ?? "", file[2] === "raw");
      sendFile(request, response, found);
      return undefined;
    }
    throw new api.HubApiError(404, "Not Found");
  }

  async function create(call: api.HubCall, caller: api.Account | undefined): Promise<unknown> {
    const wanted = api.parse(call.body) as Record<string, unknown>;
    const isDataset = wanted["type"] === "dataset";
    const id = `${isDataset ? DATASET : ""}${wanted["organization"] ?? caller?.name}/${wanted["name"]}`;
    mustWrite(id, caller);
    const made = { url: `${call.origin}/spaces/${id}`, name: id, id };
    if (spaces.has(id)) throw new api.HubApiError(409, "You already created this space repo", { more: made });
    const attributes = { ".gitattributes": "*.tgz filter=lfs diff=lfs merge=lfs -text\n" };
    const files = isDataset ? attributes : { ...attributes, "README.md": "# New\n" };
    const isPrivate = wanted["private"] === true || wanted["visibility"] === "private";
    const space = await addSpace(id, files, { private: isPrivate, sdk: String(wanted["sdk"]), stage: "NO_APP_FILE" });
    if (typeof wanted["hardware"] === "string") space.hardware = wanted["hardware"];
    return made;
  }

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", origin());
    const name = `${request.method} ${url.pathname}`;
    requests.push({
      method: request.method ?? "",
      path: url.pathname,
      authorization: request.headers.authorization,
    });
    response.setHeader("x-request-id", `request-${requests.length}`);
    const failing = failures.find(({ match, left }) => left > 0 && match.test(name));
    if (failing) {
      failing.left--;
      return breakOff(failing.failure, request, response);
    }
    answer(request, response, url)
      .then((body) => body !== undefined && sendJson(response, 200, body))
      .catch((error: unknown) => {
        const refusal = error instanceof api.HubApiError ? error : new api.HubApiError(500, String(error));
        if (refusal.code) response.setHeader("x-error-code", refusal.code);
        if (refusal.status === 401) response.setHeader("www-authenticate", 'Basic realm="Authentication required"');
        sendJson(response, refusal.status, { ...refusal.more, error: refusal.message });
      });
  });
  const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: origin(),
    token: "hf_author",
    readToken: "hf_reader",
    requests,
    forget: () => {
      requests.length = 0;
    },
    addSpace,
    space: (id) => spaces.get(id),
    dataset: (id) => spaces.get(`${DATASET}${id}`),
    fail: (match, failure, times = Number.POSITIVE_INFINITY) => {
      failures.push({ match, failure, left: times });
    },
    answer: (match, body) => {
      failures.push({ match, failure: { status: 200, body }, left: Number.POSITIVE_INFINITY });
    },
    recover: () => {
      failures.length = 0;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
      await rm(dir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Before the owner of a data set, which may have the name of a Space. */
const DATASET = "datasets+";

function breakOff(failure: HubFailure, request: IncomingMessage, response: ServerResponse): void {
  if (failure === "drop") {
    // After the first bytes of the body, like a broken connection.
    request.once("data", () => request.socket.destroy()).once("end", () => request.socket.destroy());
    return;
  }
  if (failure === "hang") return void request.resume();
  for (const [name, value] of Object.entries(failure.headers ?? {})) response.setHeader(name, value);
  request.resume();
  sendJson(response, failure.status, failure.body ?? { error: failure.error ?? `the Hub says ${failure.status}` });
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  if (response.headersSent) return void response.end();
  response.writeHead(status, { "content-type": "application/json; charset=utf-8" });
  response.end(JSON.stringify(body));
}

function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  { commit, content }: { commit: string; content: Buffer },
): void {
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "");
  const from = Number(range?.[1] ?? 0);
  const to = range?.[2] ? Number(range[2]) : content.length - 1;
  response.writeHead(range && content.length > 0 ? 206 : 200, {
    "content-type": "application/octet-stream",
    "x-repo-commit": commit,
    etag: `"${commit}-${content.length}"`,
    "accept-ranges": "bytes",
    "content-range": `bytes ${from}-${to}/${content.length}`,
  });
  response.end(request.method === "HEAD" ? undefined : content.subarray(from, to + 1));
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
