import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

/** Sent data, and the frames of the answer. */
export interface FrameExchange {
  send?: unknown;
  send_text?: string;
  send_binary_base64?: string;
  recv?: unknown[];
}

/** The answer of a server in the format of the recordings. HTTP and WebSocket rows use different fields. */
export interface RecordedAnswer {
  setup?: FrameExchange[];
  recv?: unknown[];
  after?: FrameExchange[];
  steps?: FrameExchange[];
  connections?: Record<string, FrameExchange>;
  closed_by_server?: { code: number };
  connect_error?: string;
  status?: number;
  content_type?: string | null;
  response_headers?: Record<string, string | null>;
  response?: unknown;
  response_text?: string;
  response_summary?: unknown;
  [more: string]: unknown;
}

/** One row of a transcript: what to send to which environment, and the answer of the reference. */
export interface Recording extends FrameExchange, RecordedAnswer {
  case: string;
  env: string;
  path: string;
  method?: string;
  headers?: Record<string, string>;
  body?: unknown;
  body_text?: string;
  send_all?: unknown[];
}

const FOLDER = join(import.meta.dirname, "../transcripts");
/** Recordings of clients, not of servers. */
const CLIENT_FILES = ["clients.jsonl"];

/** The recorded exchanges with a server, in recording order. */
export function loadRecordings(): Recording[] {
  return listTranscripts()
    .filter((file) => !CLIENT_FILES.includes(basename(file)))
    .flatMap((file) => readRows<Recording>(file));
}

/** The paths of all transcripts. */
export function listTranscripts(): string[] {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith(".jsonl"));
  return files.sort().map((file) => join(FOLDER, file));
}

/** What a released Python client returned or raised, call by call, and what the server saw of it. */
export interface ClientRecording {
  case: string;
  client_results: unknown[];
  server_saw?: { n: number }[];
}

export function loadClientRecordings(): ClientRecording[] {
  return CLIENT_FILES.flatMap((file) => readRows<ClientRecording>(join(FOLDER, file)));
}

function readRows<T>(file: string): T[] {
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as T);
}
