/** A client of ORS for tests, which reads every byte of a stream. */
export interface OrsClient {
  readonly url: string;
  request(method: "GET" | "POST", path: string, options?: RequestOptions): Promise<OrsResponse>;
  /** A session id from `/create_session`. */
  newId(): Promise<string>;
  /** A session that has been created. */
  open(body?: object): Promise<string>;
  call(id: string, name: string, input?: object, more?: object): Promise<OrsCall>;
}

interface RequestOptions {
  id?: string;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

export interface OrsResponse {
  status: number;
  headers: Headers;
  text: string;
  json: unknown;
}

export interface OrsCall extends OrsResponse {
  taskId: string | undefined;
  events: OrsEvent[];
  /** Of the chunks together, as the SDK reads them. */
  result: unknown;
  error: string | undefined;
}

export interface OrsEvent {
  event: string;
  data: string;
}

export function orsClient(url: string, always: Record<string, string> = {}): OrsClient {
  const client: OrsClient = {
    url,
    async request(method, path, { id, body, headers = {}, signal } = {}) {
      const response = await fetch(url + path, {
        method,
        redirect: "manual",
        signal: signal ?? null,
        headers: {
          ...always,
          ...(id !== undefined && { "x-session-id": id }),
          ...(body !== undefined && { "content-type": "application/json" }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, headers: response.headers, text, json: parse(text) };
    },
    async newId() {
      const { text } = await client.request("POST", "/create_session", { body: {} });
      const [first] = readEvents(text);
      return first?.data ?? "";
    },
    async open(body = { split: "train", index: 0 }) {
      const id = await client.newId();
      const { status, text } = await client.request("POST", "/create", { id, body });
      if (status !== 200) throw new Error(`/create answered ${status}: ${text}`);
      return id;
    },
    async call(id, name, input = {}, more = {}) {
      const { json: all } = await client.request("GET", "/list_environments", { id });
      const [environment] = all as string[];
      const answer = await client.request("POST", `/${environment}/call`, { id, body: { name, input, ...more } });
      const events = answer.status === 200 ? readEvents(answer.text) : [];
      const find = (name: string): string | undefined => events.find(({ event }) => event === name)?.data;
      const parts = events.filter(({ event }) => event === "chunk" || event === "end").map(({ data }) => data);
      const result = parts.length === 0 ? undefined : parse(parts.join(""));
      return { ...answer, events, taskId: find("task_id"), error: find("error"), result };
    },
  };
  return client;
}

/** Reads events as the SDK does: it drops blanks before each value, and needs a colon in each line. */
function readEvents(text: string): OrsEvent[] {
  return text
    .split("\n\n")
    .filter((block) => block !== "" && !block.startsWith(":"))
    .map((block) => {
      const fields = block.split("\n").map((line) => {
        const colon = line.indexOf(":");
        if (colon < 0) throw new Error(`a line without a colon: ${line}`);
        return [line.slice(0, colon), line.slice(colon + 1).replace(/^[\s\u0085]+/, "")] as const;
      });
      return { event: new Map(fields).get("event") ?? "", data: new Map(fields).get("data") ?? "" };
    });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
