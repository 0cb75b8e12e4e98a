import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { defineCounter } from "../../../test-support/environments/counter.js";
import { ELSEWHERE, requireChromium, usePages } from "./pages.js";

const chromium = await requireChromium();

describe.skipIf(!chromium.available)("a server on all addresses", () => {
  const { start, visit, expectProblem } = usePages(chromium);
  const everywhere = { host: "0.0.0.0" };

  test("refuses the page of a foreign name that resolves to it", async () => {
    expectProblem(/status of 403|WebSocket connection to/);
    expectProblem(NO_ICON);
    const server = await start(defineCounter().environment, everywhere);
    const page = await visit(`http://${ELSEWHERE}:${server.port}/health`);
    expect(await tryAll(page)).toEqual({ reset: 403, step: 403, mcp: 403, "/ws": "refused", "/mcp": "refused" });
    expect(await page.evaluate(async () => (await fetch("/reset", { method: "POST" })).text())).toContain(
      `add ${ELSEWHERE} to ALLOWED_HOSTS`,
    );
    expect(server.capacity().active_sessions).toBe(0);
  });

  test("lets in its own page, by its address and by a name of ALLOWED_HOSTS", async () => {
    expectProblem(NO_ICON);
    const server = await start(defineCounter().environment, { ...everywhere, allowedHosts: [ELSEWHERE] });
    for (const host of ["127.0.0.1", ELSEWHERE]) {
      const page = await visit(`http://${host}:${server.port}/health`);
      expect(await tryAll(page)).toEqual({ reset: 200, step: 200, mcp: 200, "/ws": "open", "/mcp": "open" });
    }
  });

  test("lets in its own page by the name that Hugging Face gives a Space", async () => {
    expectProblem(NO_ICON);
    process.env["SPACE_HOST"] = ELSEWHERE;
    try {
      const server = await start(defineCounter().environment, everywhere);
      const page = await visit(`http://${ELSEWHERE}:${server.port}/health`);
      expect(await tryAll(page)).toEqual({ reset: 200, step: 200, mcp: 200, "/ws": "open", "/mcp": "open" });
    } finally {
      delete process.env["SPACE_HOST"];
    }
  });
});

/** Browsers request an icon of any page. */
const NO_ICON = /status of 404/;

/** What a script of this page can do to the server that its name resolves to. */
function tryAll(page: Page): Promise<Record<string, number | string>> {
  return page.evaluate(async () => {
    const post = async (path: string, body: object): Promise<number> => {
      const headers = { "content-type": "application/json" };
      return (await fetch(path, { method: "POST", headers, body: JSON.stringify(body) })).status;
    };
    const connect = (path: string): Promise<string> =>
      new Promise((resolve) => {
        const socket = new WebSocket(`ws://${location.host}${path}`);
        socket.onopen = () => {
          socket.close();
          resolve("open");
        };
        socket.onerror = () => resolve("refused");
      });
    return {
      reset: await post("/reset", {}),
      step: await post("/step", { action: { amount: 1 } }),
      mcp: await post("/mcp", { jsonrpc: "2.0", id: 1, method: "tools/list" }),
      "/ws": await connect("/ws"),
      "/mcp": await connect("/mcp"),
    };
  });
}
