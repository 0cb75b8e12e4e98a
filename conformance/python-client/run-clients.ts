import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** The results of each client, by what they are of. */
export type Results = Map<string, Record<string, unknown>>;

interface Line {
  kind: string;
  what: string;
  result: unknown;
  do?: string;
}

/**
 * Runs a script of this folder that plays with each kind of client at its URL, and returns what it prints. `act` does what
 * the script wishes.
 */
export async function runClients(
  { python, script, urls }: { python: string; script: string; urls: Record<string, string> },
  act: (thing: string) => Promise<unknown>,
): Promise<Results> {
  const child = spawn(python, [join(import.meta.dirname, script), JSON.stringify(urls)]);
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const exited = once(child, "close") as Promise<[number]>;
  const results: Results = new Map(Object.keys(urls).map((kind) => [kind, {}]));
  try {
    for await (const text of createInterface(child.stdout)) {
      const line = JSON.parse(text) as Line;
      if (line.do !== undefined) child.stdin.write(`${JSON.stringify(await act(line.do))}\n`);
      else Object.assign(results.get(line.kind) ?? {}, { [line.what]: line.result });
    }
  } finally {
    child.kill();
  }
  const [code] = await exited;
  if (code !== 0) throw new Error(`the clients exited with code ${code}:\n${errors}`);
  return results;
}
