import { OpenEnvError } from "#core/errors.js";
import { renderEpisode } from "#core/protocol/episode-line.js";
import { STATUS } from "#core/protocol/http.js";
import { parseRolloutQuery } from "#core/protocol/rollout-query.js";
import type { PluginRoute, RouteCall } from "#core/server/plugins/plugin.js";
import { isObject } from "#core/util/is-object.js";
import { ForkStreams } from "./forks/fork-stream.js";
import { FORK_POLICIES, type ForkOrder, MAX_FORKS } from "./forks/forks.js";
import { refusePair } from "./pairs.js";
import { SORTS } from "./query/reader.js";
import { toRecord } from "./store/record.js";
import type { StoreChange } from "./store/roles.js";
import type { StoreThread } from "./store/thread.js";

type Handler = (url: URL, request: Request, call: RouteCall) => Promise<Response>;

const MAX_ROWS = 1_000;
const LIVE_MS = 1_000;
const ID = /^[0-9a-f]{16}$/;

/** The routes of the archive: those that read are for viewers, the others for operators. */
export function createRoutes(reader: StoreThread<"reader">): Record<string, PluginRoute> {
  const { list, below } = createReads(reader);
  const { post, remove } = createWrites(reader);
  return {
    "/rollouts": { access: "viewer", GET: answer(list) },
    "/rollouts/*": {
      access: { GET: "viewer", POST: "operator", DELETE: "operator" },
      GET: answer(below),
      POST: answer(post),
      DELETE: answer(remove),
    },
  };
}

function createReads(reader: StoreThread<"reader">): Record<"list" | "below", Handler> {
  const live = new Live(reader);
  const list: Handler = async (url) => {
    const { searchParams: given } = url;
    const q = given.get("q") ?? "";
    const refused = refuseQuery(q);
    if (refused !== undefined) return refused;
    const by = given.get("by") ?? "episode";
    if (!isOneOf(["episode", "group", "failure"] as const, by))
      return refuse(`by must be episode, group or failure, not "${by}".`);
    const sort = given.get("sort") ?? undefined;
    const sorts: readonly string[] = SORTS[by];
    if (sort !== undefined && !sorts.includes(sort.replace(/^-/, ""))) {
      return refuse(`sort must be one of ${sorts.join(", ")}, or one with "-" before it, not "${sort}".`);
    }
    const limit = readCount(given, "limit", 100);
    if (limit === undefined || limit === 0 || limit > MAX_ROWS)
      return refuse(`limit must be an integer from 1 to ${MAX_ROWS}.`);
    const after = given.get("after") ?? undefined;
    return sendJson(await reader.call("json", "list", { q, by, sort, limit, after }));
  };
  const facets: Handler = async (url) => {
    const q = url.searchParams.get("q") ?? "";
    return refuseQuery(q) ?? sendJson(await reader.call("json", "facets", q));
  };
  const below: Handler = async (url, request, { server }) => {
    const [, , first = "", second, ...more] = url.pathname.split("/");
    if (more.length > 0) return missing("There is no such route below /rollouts.");
    if (first === "facets" && second === undefined) return facets(url, request, { server, principal: undefined });
    if (first === "live" && second === undefined) return live.stream(request.signal);
    if (first === "sessions" && second !== undefined) {
      const episodes = await reader.call("session", second);
      const isLive = server.sessions().some(({ handle }) => handle === second);
      return isLive || episodes.length > 0
        ? Response.json({ episodes, live: isLive })
        : missing(`There is no session "${second}".`);
    }
    if (ID.test(first) && second === "pairs") return Response.json({ pairs: await reader.call("pairs", first) });
    if (ID.test(first) && second === "forks") return Response.json({ values: await reader.call("forks", first) });
    if (!ID.test(first) || !(second === undefined || second === "export"))
      return missing("There is no such episode or route below /rollouts.");
    const [from, limit] = [
      readCount(url.searchParams, "from", 0),
      readCount(url.searchParams, "limit", Number.MAX_SAFE_INTEGER),
    ];
    if (from === undefined || limit === undefined) return refuse("from and limit must be non-negative integers.");
    if (second === undefined) {
      const body = await reader.call("json", "detail", first, from, limit);
      return body.length > 0 ? sendJson(body) : missing(`There is no episode "${first}".`);
    }
    const detail = await reader.call("detail", first, from, limit);
    if (detail === undefined) return missing(`There is no episode "${first}".`);
    const line = `${renderEpisode(toRecord(detail, 0))}\n`;
    const headers = {
      "content-type": "application/jsonl",
      "content-disposition": `attachment; filename="${first}.jsonl"`,
    };
    return new Response(line, { headers });
  };
  return { list, below };
}

function createWrites(reader: StoreThread<"reader">): Record<"post" | "remove", Handler> {
  const forks = new ForkStreams();
  const change = (server: RouteCall["server"], wanted: StoreChange): Promise<unknown> => server.ask(wanted);
  const remove: Handler = async (url, _request, { server }) => {
    const [, , id = "", what, rejected = "", ...more] = url.pathname.split("/");
    const isPair = what === "pairs";
    if ((what !== undefined && !isPair) || more.length > 0) return missing("There is no such route below /rollouts.");
    const removed = await change(server, isPair ? { unpair: { chosen: id, rejected } } : { remove: [id] });
    const lacking = isPair ? `pair of "${id}" and "${rejected}"` : `episode "${id}"`;
    return removed === 1 ? new Response(null, { status: 204 }) : missing(`There is no ${lacking}.`);
  };
  const prefer: Handler = async (url, request, { server }) => {
    const chosen = url.pathname.split("/")[2] as string;
    const body: unknown = await request.json().catch(() => undefined);
    const rejected = isObject(body) ? body["rejected"] : undefined;
    if (typeof rejected !== "string")
      return refuse("The body must be a JSON object with rejected, the name of an episode.");
    const [a, b] = [await reader.call("detail", chosen), await reader.call("detail", rejected)];
    if (a === undefined || b === undefined) return missing(`There is no episode "${a ? rejected : chosen}".`);
    const reason = refusePair(a, b);
    if (reason !== undefined) return refuse(reason);
    await change(server, { pair: { chosen, rejected } });
    return Response.json({ pairs: await reader.call("pairs", chosen) }, { status: 201 });
  };
  const post: Handler = async (url, request, call) => {
    const [, , id = "", what, ...more] = url.pathname.split("/");
    const handler = what === "forks" ? fork : what === "pairs" ? prefer : undefined;
    if (!ID.test(id) || handler === undefined || more.length > 0)
      return missing("There is no such route below /rollouts.");
    return handler(url, request, call);
  };
  const fork: Handler = async (url, request, { server }) => {
    const id = url.pathname.split("/")[2] as string;
    const wanted = readFork(await request.json().catch(() => undefined));
    if (typeof wanted === "string") return refuse(wanted);
    const detail = await reader.call("detail", id, 0, Number.MAX_SAFE_INTEGER);
    if (detail === undefined) return missing(`There is no episode "${id}".`);
    if (forks.isBusy) return fail(503, "CAPACITY_REACHED", "Other forks are being played: wait for their end.");
    return forks.stream(detail, wanted, { server, request });
  };
  return { post, remove };
}

type Viewer = ReadableStreamDefaultController<Uint8Array>;

/** What all viewers of a server see, once a second while there are any. */
class Live {
  readonly #reader: StoreThread<"reader">;
  readonly #viewers = new Set<Viewer>();
  /** Those that read slowly: a message was not sent to them. */
  readonly #behind = new WeakSet<Viewer>();
  #timer: NodeJS.Timeout | undefined;

  constructor(reader: StoreThread<"reader">) {
    this.#reader = reader;
  }

  stream(signal: AbortSignal): Response {
    const viewers = this.#viewers;
    let own: Viewer;
    const end = (): void => {
      viewers.delete(own);
      if (viewers.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        own = controller;
        viewers.add(own);
        void this.#send(this.#timer === undefined);
        this.#timer ??= setInterval(() => void this.#send(), LIVE_MS);
      },
      cancel: end,
    });
    signal.addEventListener("abort", end);
    return new Response(body, { headers: { "content-type": "text/event-stream", "cache-control": "no-store" } });
  }

  async #send(isFirst = false): Promise<void> {
    const message = await this.#reader.call("json", "live", isFirst).then(
      (data) => ["data: ", data, "\n\n"],
      (error: Error) => [`event: problem\ndata: ${JSON.stringify({ message: error.message })}\n\n`],
    );
    const [bytes, missed] = [message, ["event: missed\ndata: null\n\n", ...message]].map((parts) =>
      Buffer.concat(parts.map((part) => Buffer.from(part as string))),
    );
    for (const viewer of this.#viewers) {
      if ((viewer.desiredSize ?? 0) <= 0) this.#behind.add(viewer);
      else viewer.enqueue((this.#behind.delete(viewer) ? missed : bytes) as Buffer);
    }
  }
}

/** A handler that answers what the store cannot do with the code and the reason. */
function answer(handler: Handler): NonNullable<PluginRoute["GET"]> {
  return async (request, call) => {
    try {
      return await handler(new URL(request.url), request, call);
    } catch (error) {
      const code = error instanceof OpenEnvError && error.code === "TIMEOUT" ? "TIMEOUT" : "JOURNAL_UNAVAILABLE";
      call.server.log.error({ err: error }, "the store could not answer");
      return fail(STATUS[code], code, (error as Error).message);
    }
  };
}

function readFork(body: unknown): ForkOrder | string {
  if (!isObject(body)) return "The body must be a JSON object with step, count and policy.";
  const { step, count = 16, policy = "random" } = body;
  if (!isCount(step, 0, Number.MAX_SAFE_INTEGER)) return "step must be a non-negative integer.";
  if (!isCount(count, 1, MAX_FORKS)) return `count must be an integer from 1 to ${MAX_FORKS}.`;
  if (!isOneOf(FORK_POLICIES, policy as string)) return `policy must be ${FORK_POLICIES.join(", ")}.`;
  return { step, count, policy: policy as ForkOrder["policy"] };
}

function isCount(value: unknown, least: number, most: number): value is number {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
}

/** The first term of a query that cannot be read. */
function refuseQuery(q: string): Response | undefined {
  const { errors } = parseRolloutQuery(q);
  return errors[0] && fail(400, "VALIDATION_ERROR", errors[0].message, { term: errors[0].term, query: { errors } });
}

function sendJson(body: BodyInit): Response {
  return new Response(body, { headers: { "content-type": "application/json" } });
}

function refuse(message: string): Response {
  return fail(400, "VALIDATION_ERROR", message);
}

function missing(message: string): Response {
  return fail(404, "VALIDATION_ERROR", message);
}

function fail(status: number, code: string, detail: string, more: object = {}): Response {
  return Response.json({ detail, code, ...more }, { status });
}

function readCount(given: URLSearchParams, name: string, fallback: number): number | undefined {
  const text = given.get(name);
  if (text === null) return fallback;
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function isOneOf<const T extends string>(list: readonly T[], one: string): one is T {
  return (list as readonly string[]).includes(one);
}
