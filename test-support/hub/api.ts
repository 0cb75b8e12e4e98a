/** What the Hub's API answers, for the requests that its own libraries send about a Space. */
import { createHash } from "node:crypto";
import type { FileChange, Repository } from "./repository.js";

export interface Pull {
  number: number;
  title: string;
  files: Record<string, string>;
}

export interface StoredSpace {
  readonly id: string;
  readonly repository: Repository;
  private: boolean;
  sdk: string;
  /** As the Hub names it: `RUNNING`, `SLEEPING`, `PAUSED`, `BUILDING`, `RUNTIME_ERROR`, … */
  stage: string;
  hardware: string;
  /** Where the running Space answers; a test puts its server here. */
  host: string;
  readonly secrets: Record<string, string>;
  readonly variables: Record<string, string>;
  /** Requests to open one, numbered from 1. */
  readonly pulls: Pull[];
  readonly large: Map<string, Buffer>;
  /** Every file of a branch by its path. */
  files(revision?: string): Promise<Record<string, string>>;
}

export interface Account {
  name: string;
  orgs: string[];
  role: "read" | "write";
}

/** An answer that is no success, as the Hub words it. */
export class HubApiError extends Error {
  readonly status: number;
  readonly code: string;
  /** What the body has beside the message. */
  readonly more: object;

  constructor(status: number, message: string, { code = "", more = {} }: { code?: string; more?: object } = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.more = more;
  }
}

export interface HubCall {
  readonly origin: string;
  readonly query: URLSearchParams;
  readonly body: Buffer;
}

type Handler = (space: StoredSpace, rest: string, call: HubCall) => unknown;

/** `GET /api/spaces/<id>/<key>/<rest>` and its like; what changes something needs a token that may write. */
export const SPACE_ROUTES: Record<string, Handler> = {
  "GET ": (space) => describe(space, "main"),
  "GET revision": (space, rest) => describe(space, decodeURIComponent(rest)),
  "GET runtime": (space) => runtime(space),
  "GET variables": (space) => withKeys(space.variables),
  "GET secrets": (space) => withKeys(space.secrets, false),
  "GET tree": async (space, rest) => {
    const [revision = "main", ...path] = rest.split("/").map(decodeURIComponent);
    const commit = await known(space, revision);
    const under = path.length > 0 ? `${path.join("/")}/` : "";
    const entries = (await space.repository.tree(commit)).filter((entry) => entry.path.startsWith(under));
    return await Promise.all(entries.map((entry) => withLarge(space, commit, entry)));
  },
  "POST paths-info": async (space, rest, { body }) => {
    const { paths } = parse(body) as { paths: string[] };
    const commit = await known(space, decodeURIComponent(rest));
    const entries = (await space.repository.tree(commit)).filter((entry) => paths.includes(entry.path));
    return await Promise.all(entries.map((entry) => withLarge(space, commit, entry)));
  },
  "POST preupload": (_space, _rest, { body }) => {
    const { files } = parse(body) as { files: { path: string; size: number; sample: string }[] };
    const large = (file: { size: number; sample: string }) =>
      file.size > 10 * 1024 * 1024 || Buffer.from(file.sample, "base64").includes(0);
    return {
      files: files.map((file) => ({
        path: file.path,
        uploadMode: large(file) ? "lfs" : "regular",
        shouldIgnore: false,
        oid: null,
      })),
    };
  },
  "POST commit": (space, rest, call) => commit(space, decodeURIComponent(rest), call),
  "POST secrets": (space, _rest, { body }) => set(space.secrets, body, false),
  "POST variables": (space, _rest, { body }) => set(space.variables, body),
  "DELETE secrets": (space, _rest, { body }) => unset(space.secrets, body),
  "DELETE variables": (space, _rest, { body }) => unset(space.variables, body),
  "POST hardware": (space, _rest, { body }) => {
    space.hardware = String((parse(body) as { flavor: string }).flavor);
    return runtime(space);
  },
  "POST restart": (space) => {
    space.stage = "RUNNING";
    return runtime(space);
  },
  "POST pause": (space) => {
    space.stage = "PAUSED";
    return runtime(space);
  },
};

/** The answer to `GET /spaces/<id>/resolve/<revision>/<path>`; a large file comes with its content, not its pointer. */
export async function resolveFile(space: StoredSpace, rest: string, raw: boolean) {
  const [revision = "main", ...parts] = rest.split("/").map(decodeURIComponent);
  const commit = await known(space, revision);
  const content = await space.repository.read(commit, parts.join("/"));
  if (!content) throw new HubApiError(404, "Entry not found", { code: "EntryNotFound" });
  const oid = raw ? undefined : pointerOid(content);
  return { commit, content: (oid && space.large.get(oid)) || content };
}

export function lfsBatch(space: StoredSpace, { body, origin }: HubCall) {
  const { objects } = parse(body) as { objects: { oid: string; size: number }[] };
  return {
    transfer: "basic",
    objects: objects.map((object) => ({
      ...object,
      ...(!space.large.has(object.oid) && {
        actions: { upload: { href: `${origin}/lfs/${space.id}/${object.oid}`, header: {} } },
      }),
    })),
  };
}

export function storeLarge(space: StoredSpace, oid: string, body: Buffer): void {
  if (createHash("sha256").update(body).digest("hex") !== oid)
    throw new HubApiError(400, "The content is not its hash");
  space.large.set(oid, body);
}

export function whoAmI(account: Account) {
  return {
    type: "user",
    id: account.name,
    name: account.name,
    fullname: account.name,
    email: `${account.name}@localhost`,
    emailVerified: true,
    isPro: false,
    canPay: false,
    periodEnd: null,
    billingMode: "postpaid",
    avatarUrl: "",
    orgs: account.orgs.map((name) => ({ type: "org", id: name, name, fullname: name, roleInOrg: "admin" })),
    auth: {
      type: "access_token",
      accessToken: { displayName: "test", role: account.role, createdAt: "2026-01-01T00:00:00.000Z" },
    },
  };
}

export function parse(body: Buffer): unknown {
  try {
    return JSON.parse(String(body));
  } catch {
    throw new HubApiError(400, "The body is not JSON");
  }
}

async function describe(space: StoredSpace, revision: string) {
  const sha = await known(space, revision === "HEAD" ? "main" : revision);
  const files = (await space.repository.tree(sha)).filter((entry) => entry.type === "file");
  return {
    _id: createHash("sha1").update(space.id).digest("hex").slice(0, 24),
    id: space.id,
    author: space.id.split("/")[0],
    sha,
    private: space.private,
    disabled: false,
    gated: false,
    sdk: space.sdk,
    subdomain: subdomain(space.id),
    host: space.host,
    likes: 0,
    tags: [space.sdk],
    models: [],
    datasets: [],
    createdAt: "2026-01-01T00:00:00.000Z",
    lastModified: "2026-01-01T00:00:00.000Z",
    siblings: files.map(({ path }) => ({ rfilename: path })),
    runtime: runtime(space),
  };
}

function runtime(space: StoredSpace) {
  const up = space.stage.startsWith("RUNNING");
  return {
    stage: space.stage,
    hardware: { current: up ? space.hardware : null, requested: space.hardware },
    storage: null,
    gcTimeout: 172800,
    replicas: { current: up ? 1 : 0, requested: 1 },
    devMode: false,
    ...(space.stage.endsWith("ERROR") && { errorMessage: "Exit code: 1. Reason: the application did not start" }),
    domains: [{ domain: new URL(space.host).host, stage: "READY" }],
  };
}

async function commit(space: StoredSpace, branch: string, { body, query, origin }: HubCall) {
  const lines = String(body).trim().split("\n");
  const entries = lines.map((line) => parse(Buffer.from(line)) as { key: string; value: Record<string, unknown> });
  const header = entries.find(({ key }) => key === "header")?.value ?? {};
  const title = String(header["summary"] ?? "");
  const parent = await space.repository.resolve(branch);
  const expected = header["parentCommit"];
  if (typeof expected === "string" && expected !== parent) {
    throw new HubApiError(412, "A commit has happened since. Please refresh and try again.");
  }
  const changes = entries.flatMap((entry) => toChange(space, entry));
  const asPull = query.get("create_pr") === "1";
  const number = space.pulls.length + 1;
  const ref = asPull ? `refs/pr/${number}` : `refs/heads/${branch}`;
  const oid = await space.repository.commit(ref, parent, title, changes);
  if (asPull) space.pulls.push({ number, title, files: await space.files(ref) });
  return {
    success: true,
    commitOid: oid,
    commitUrl: `${origin}/spaces/${space.id}/commit/${oid}`,
    hookOutput: "",
    ...(asPull && { pullRequestUrl: `${origin}/spaces/${space.id}/discussions/${number}` }),
  };
}

function toChange(space: StoredSpace, { key, value }: { key: string; value: Record<string, unknown> }): FileChange[] {
  const path = String(value["path"]);
  if (key === "header") return [];
  if (path.split("/").includes("..")) throw new HubApiError(400, `Invalid path: ${path}`);
  if (key === "deletedFile" || key === "deletedFolder") return [{ path }];
  if (key === "file") return [{ path, content: Buffer.from(String(value["content"]), value["encoding"] as "base64") }];
  if (key !== "lfsFile") throw new HubApiError(400, `Unknown operation: ${key}`);
  const oid = String(value["oid"]);
  const content = space.large.get(oid);
  if (!content) throw new HubApiError(400, `The upload of ${path} is missing`);
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${content.length}\n`;
  return [{ path, content: Buffer.from(pointer) }];
}

async function withLarge(space: StoredSpace, commit: string, entry: { type: string; path: string; size: number }) {
  if (entry.type !== "file" || entry.size > 200) return entry;
  const content = await space.repository.read(commit, entry.path);
  const oid = content && pointerOid(content);
  const large = oid ? space.large.get(oid) : undefined;
  if (!large) return entry;
  return { ...entry, size: large.length, lfs: { oid, size: large.length, pointerSize: entry.size } };
}

function pointerOid(content: Buffer): string | undefined {
  return /^version https:\/\/git-lfs.*\noid sha256:([0-9a-f]{64})\n/.exec(content.toString("latin1", 0, 200))?.[1];
}

async function known(space: StoredSpace, revision: string): Promise<string> {
  const commit = await space.repository.resolve(revision);
  if (!commit) throw new HubApiError(404, `Invalid rev id: ${revision}`, { code: "RevisionNotFound" });
  return commit;
}

export function subdomain(id: string): string {
  return id.toLowerCase().replace(/[^a-z0-9]/g, "-");
}

function set(map: Record<string, string>, body: Buffer, tell = true) {
  const { key, value } = parse(body) as { key: string; value: string };
  if (!/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(key)) throw new HubApiError(400, `Invalid name: ${key}`);
  map[key] = value;
  return withKeys(map, tell);
}

function unset(map: Record<string, string>, body: Buffer) {
  delete map[(parse(body) as { key: string }).key];
  return withKeys(map, false);
}

/** The Hub never tells a secret's value. */
function withKeys(map: Record<string, string>, tell = true) {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, { key, ...(tell && { value }) }]));
}
