/** Sessions over HTTP through a balancer, and where they landed. */
import { expect } from "vitest";

/** A step of the desk: it answers how many there were. */
export const TALLY = { type: "call_tool", tool_name: "tally", arguments: {} };
/** Enough for both of two servers to get some. */
export const MANY = 8;

type Pair = Record<"one" | "two", { active(): number }>;

/** Opens some at once, and more until both servers have one: a balancer may take a while to trust the second. */
export async function openOnBoth<T>({ one, two }: Pair, openOne: () => Promise<T>): Promise<T[]> {
  const opened = await Promise.all(Array.from({ length: MANY }, openOne));
  const isSpread = async (): Promise<boolean> => {
    if (Math.min(one.active(), two.active()) > 0) return true;
    opened.push(await openOne());
    return false;
  };
  await expect.poll(isSpread, { timeout: 15_000, interval: 300 }).toBe(true);
  return opened;
}

/** What it answers. */
export function tallied(data: number) {
  return { result: { data } };
}

export async function openHttp(url: string): Promise<{ header: string; cookie: string }> {
  const response = await post(`${url}/reset`, {}, {});
  expect([response.status, await response.text()]).toMatchObject([200, expect.anything()]);
  const cookie = response.headers
    .getSetCookie()
    .map((line) => line.split(";")[0])
    .join("; ");
  return { header: response.headers.get("openenv-session") ?? "", cookie };
}

export async function stepHttp(
  url: string,
  headers: Record<string, string>,
  action: object = TALLY,
): Promise<{ status: number; body: unknown }> {
  const response = await post(`${url}/step`, { action }, headers);
  const text = await response.text();
  try {
    return { status: response.status, body: JSON.parse(text) };
  } catch {
    return { status: response.status, body: text };
  }
}

/** Asked once, over connections that are kept as any client keeps them: an answer that is lost is a step that is lost. */
function post(url: string, body: object, headers: Record<string, string>): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}
