import type { RecordedAnswer } from "./load.js";

/** Wildcards in divergences for values that are not fixed. */
const WILDCARDS = { string: "<string>", any: "<any>" } as const;

/** Fields with free wording, which must be strings. `url` may be missing. */
const WORDING = new Set(["message", "msg", "detail", "title", "description", "error"]);
/** Every error of ours has one; those of the Python package have none. */
const FAULTS = new Set(["infrastructure", "environment", "client"]);
/** Longer inputs may be shortened. */
const BRIEF = 200;

/** Members of a row that tell an answer; a frame or a close that was not expected counts as one. */
export const MEMBERS = [
  "connect_error",
  "setup",
  "recv",
  "steps",
  "after",
  "connections",
  "closed_by_server",
  "unsolicited",
  "status",
  "content_type",
  "response_headers",
  "response",
  "response_text",
  "response_summary",
  "frames",
  "paths",
  "recv_on_connect",
  "recv_after_reset",
  "recv_after_step",
  "recv_after_client_text",
  "other_socket_answered_fast",
  "server_answer_code",
  "client_results",
  "server_saw",
] as const;
/** Fields that our answers always have, but not every recorded answer. */
const OPEN = new Set(["response_headers", "content_type", "response", "response_text"]);

/** One sentence for each normative difference between an answer and the expected one. */
export function findDifferences(expected: RecordedAnswer, given: RecordedAnswer): string[] {
  const found: string[] = [];
  const actual = withoutFaults(given) as RecordedAnswer;
  for (const member of MEMBERS) {
    if (!(member in expected)) {
      if (member in actual && !OPEN.has(member)) found.push(`${member}: not expected, got ${show(actual[member])}`);
    } else if (member === "response_headers") {
      compareHeaders(expected.response_headers ?? {}, actual.response_headers ?? {}, found);
    } else if (member === "connect_error") {
      compareText(refusal(expected.connect_error), refusal(actual.connect_error), { path: member, found });
    } else if (member === "closed_by_server") {
      compareText(expected.closed_by_server?.code, actual.closed_by_server?.code, { path: member, found });
    } else {
      compare(expected[member], actual[member], { path: member, found });
    }
  }
  return found;
}

/** Our answer as it would be without the divergence `errors-have-fault`. */
export function withoutFaults(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutFaults);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(([key, member]) => key !== "fault" || !isFault(member));
  // JSON-RPC has null where nothing else is known of an error.
  if ("fault" in value && entries.length === 0) return null;
  return Object.fromEntries(entries.map(([key, member]) => [key, withoutFaults(member)]));
}

/** The errors of an answer that do not have a valid `fault`: frames, JSON-RPC errors and HTTP bodies. */
export function findErrorsWithoutFault(answer: RecordedAnswer): unknown[] {
  const { status = 0, response } = answer;
  const body = status >= 400 && isObject(response) && !("jsonrpc" in response) ? [response] : [];
  return [...body, ...errorsIn(answer)].filter((error) => !isObject(error) || !isFault(error["fault"]));
}

/** The data of all errors within a value. */
function errorsIn(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  const { type, data, jsonrpc, error } = value as Record<string, unknown>;
  const own = type === "error" ? [data] : jsonrpc === "2.0" && isObject(error) ? [error["data"]] : [];
  return [...own, ...Object.values(value).flatMap(errorsIn)];
}

function isFault(value: unknown): boolean {
  return typeof value === "string" && FAULTS.has(value);
}

/** Like {@link findDifferences}, for documents whose keys have an order, such as JSON Schemas. */
export function findOrderDifferences(expected: unknown, actual: unknown, path = "response"): string[] {
  if (!isObject(expected) || !isObject(actual)) return [];
  const common = Object.keys(expected).filter((key) => key in actual);
  const order = Object.keys(actual).filter((key) => key in expected);
  const here = common.join() === order.join() ? [] : [`${path}: keys in the order ${order}, expected ${common}`];
  return [...here, ...common.flatMap((key) => findOrderDifferences(expected[key], actual[key], `${path}.${key}`))];
}

interface Place {
  path: string;
  found: string[];
}

function compare(expected: unknown, actual: unknown, place: Place): void {
  if (expected === WILDCARDS.any && actual !== undefined) return;
  if (expected === WILDCARDS.string && typeof actual === "string" && actual !== "") return;
  if (Array.isArray(expected) && Array.isArray(actual)) {
    if (expected.length !== actual.length) return differ(expected, actual, place);
    expected.forEach((item, i) => {
      compare(item, actual[i], { ...place, path: `${place.path}.${i}` });
    });
  } else if (isObject(expected) && isObject(actual)) {
    compareMembers(expected, actual, place);
  } else if (expected !== actual) {
    differ(expected, actual, place);
  }
}

function compareMembers(
  expected: Record<string, unknown>,
  actual: Record<string, unknown>,
  { path, found }: Place,
): void {
  for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
    const [was, is] = [expected[key], actual[key]];
    const place = { path: `${path}.${key}`, found };
    if (key === "url" && key in expected) continue;
    if (isDescription(key, expected)) continue;
    if (key === "send" || key.startsWith("send_")) continue;
    if (WORDING.has(key) && typeof was === "string" && typeof is === "string") continue;
    if (key === "input" && typeof was === "string" && was.length > BRIEF && key in actual) continue;
    if (key in expected && key in actual) compare(was, is, place);
    else found.push(key in expected ? `${place.path}: missing` : `${place.path}: not expected, got ${show(is)}`);
  }
}

/** Descriptions in schemas are documentation and may differ or be missing. */
function isDescription(key: string, owner: Record<string, unknown>): boolean {
  return key === "description" && ("type" in owner || "anyOf" in owner || "properties" in owner || "$ref" in owner);
}

function compareHeaders(
  expected: Record<string, string | null>,
  actual: Record<string, string | null>,
  found: string[],
): void {
  for (const [name, was] of Object.entries(expected)) {
    if (name === "server") continue;
    const is = actual[name] ?? null;
    // The location of a redirect may be absolute or relative.
    const same = name === "location" && was && is ? pathOf(was) === pathOf(is) : was === is;
    if (!same) found.push(`response_headers.${name}: ${show(is)}, expected ${show(was)}`);
  }
}

function pathOf(location: string): string {
  return new URL(location, "http://host").pathname;
}

function refusal(error: string | undefined): string | undefined {
  return /HTTP \d+/.exec(error ?? "")?.[0];
}

function compareText(expected: unknown, actual: unknown, place: Place): void {
  if (expected !== actual) differ(expected, actual, place);
}

function differ(expected: unknown, actual: unknown, { path, found }: Place): void {
  found.push(`${path}: ${show(actual)}, expected ${show(expected)}`);
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
