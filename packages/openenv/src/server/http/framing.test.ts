import { expect, test } from "vitest";
import { useServers } from "../../../../../test-support/servers/servers.js";

const servers = useServers();
const PAGES = ["/docs", "/redoc", "/web/"];

async function policies(url: string): Promise<string[]> {
  const answers = await Promise.all(PAGES.map((path) => fetch(url + path)));
  for (const { headers } of answers) expect(headers.get("content-type")).toContain("text/html");
  return answers.map(
    ({ headers }) => /frame-ancestors [^;]*/.exec(headers.get("content-security-policy") ?? "")?.[0] ?? "",
  );
}

test("no other site may show a page of the server in a frame", async () => {
  const server = await servers.start();
  expect(await policies(server.url)).toEqual(PAGES.map(() => "frame-ancestors 'self'"));
});

test("the hub may on a Space", async () => {
  process.env["SPACE_ID"] = "author/counter";
  try {
    const server = await servers.start();
    expect(await policies(server.url)).toEqual(PAGES.map(() => "frame-ancestors 'self' https://huggingface.co"));
  } finally {
    delete process.env["SPACE_ID"];
  }
});
