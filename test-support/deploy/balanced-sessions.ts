/** HTTP sessions through a balancer, and the servers that they reach. */
import { expect } from "vitest";

/** A step of the desk, which returns the number of its tally calls. */
export const TALLY = { type: "call_tool", tool_name: "tally", arguments: {} };
/** Enough sessions for both servers to get some. */
export const MANY = 8;

type Pair = Record<"one" | "two", { active(): number }>;

/** Opens sessions until both servers have one: a balancer may take a while to use the second. */
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

/** The expected answer. */
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

/** Sends a request once, over kept-alive connections like any client: a lost answer is a lost step. */
function post(url: string, body: object, headers: Record<string, string>): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}
