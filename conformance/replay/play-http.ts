import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import type { RecordedAnswer, Recording } from "./load.js";

/** Sends the recorded request and returns the answer in the format of the recordings. */
export async function playHttp(row: Recording, url: string): Promise<RecordedAnswer> {
  const headers: Record<string, string> = { ...row.headers };
  if (row.body !== undefined) headers["content-type"] ??= "application/json";
  const body = row.body === undefined ? row.body_text : JSON.stringify(row.body);
  const sent = request(`${url}${row.path}`, { method: row.method ?? "GET", headers, agent: false });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const received = await text(response);
  const type = response.headers["content-type"] ?? null;
  const answer: RecordedAnswer = {
    status: response.statusCode ?? 0,
    content_type: type,
    response_headers: response.headers as Record<string, string>,
  };
  if (type === "application/json" && received !== "") answer.response = JSON.parse(received);
  else answer.response_text = received;
  return answer;
}
