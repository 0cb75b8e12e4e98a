import { createHash } from "node:crypto";
import { defineContract, defineEnvironment } from "openenv-ts";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineCounter } from "../../../test-support/environments/counter.js";
import { findFreePort } from "../../../test-support/free-port.js";
import { fetchAsOperator, OPERATOR_TOKEN, WITH_OPERATOR } from "../../../test-support/operator.js";
import { openAll, startCluster } from "../../../test-support/servers/cluster.js";
import { openTestSocket } from "../../../test-support/sockets/socket.js";
import { connect } from "../../openenv/src/connect.js";
import { faults } from "./axe.js";
import { DESK, PHONE, requireChromium, usePages, width } from "./pages.js";
import { useFolders } from "./rollouts.js";

const chromium = await requireChromium();

describe.skipIf(!chromium.available)("the Server view", () => {
  const pages = usePages(chromium);
  const { expectProblem } = pages;
  const makeFolder = useFolders();
  const start: typeof pages.start = (environment, options) =>
    pages.start(environment, { ...WITH_OPERATOR, ...options });
  const open: typeof pages.open = (server, options) => pages.open(server, { token: OPERATOR_TOKEN, ...options });

  test("shows sessions, steps, latency, errors, workers and limits, and updates by itself", async () => {
    const server = await start(defineCounter().environment, { maxConcurrentEnvs: 7 });
    await using env = await connect(server.url);
    const page = await open(server, { view: "server" });
    await page.getByText("Live, every second").waitFor();
    await page.getByRole("img", { name: /^2 of 7 sessions in use/ }).waitFor();
    await page.getByText("no step in 10 s").waitFor();
    await env.reset();
    for (let at = 0; at < 20; at++) await env.step({ amount: 1 });
    await page.getByText("of 20 steps").waitFor();
    const latency = page.getByRole("img", { name: /^Latency .* p50 \d.* p99 \d/ });
    // It covers only the last seconds, which may pass before the page is rendered.
    const seen = () => env.step({ amount: 1 }).then(() => latency.isVisible());
    await expect.poll(seen, { timeout: 20_000, interval: 500 }).toBe(true);
    await page.getByRole("img", { name: /^Steps per second in the last 1 min, between 0 and \d/ }).waitFor();
    expect(await sessions(page).count()).toBe(2);
    expect(await sessions(page).filter({ hasText: "WebSocket" }).first().innerText()).toMatch(/WebSocket/);
    expect(await card(page, "Workers").innerText()).toMatch(/2 \/ 7[\s\S]*%[\s\S]*MB[\s\S]*ms/);
    expect(await card(page, "Limits").innerText()).toMatch(/Idle timeout\s+15 min[\s\S]*Largest frame\s+16\.8 MB/);
    await card(page, "Errors", "None so far.").waitFor();
    expect((await env.tryStep({ amount: 13 })).outcome).toBe("env_error");
    await card(page, "Errors", "EXECUTION_ERROR").waitFor();
    const minute = /^1 minute of the last hour with errors: 1 (now|1 min ago)$/;
    await page.getByRole("img", { name: minute }).waitFor();
    for (let at = 0; at < 4; at++) await env.tryStep({ amount: 13 });
    const failure = card(page, "Errors").locator(".failures > li").first();
    await failure.getByText("5", { exact: true }).waitFor();
    await failure.getByText("unlucky amount", { exact: true }).waitFor();
    const failing = sessions(page).filter({ hasText: "fails" });
    await failing.getByRole("button", { name: /^Copy the id [\w-]{8}$/ }).waitFor();
  });

  test("leads from a session to its recorded episodes", async () => {
    const server = await start(defineCounter().environment, { store: await makeFolder() });
    await using env = await connect(server.url);
    const { url } = await env.reset();
    // The page of a session is read once. A row of an episode that runs is written after some seconds.
    const rows = async () =>
      ((await (await fetchAsOperator(`${server.url}/rollouts`)).json()) as { rows: object[] }).rows;
    await expect.poll(async () => (await rows()).length, { timeout: 20_000 }).toBe(1);
    const page = await open(server, { view: "server" });
    const link = sessions(page).getByRole("link");
    const hrefs = () => link.evaluateAll((all) => all.map((one) => one.getAttribute("href")));
    await expect.poll(hrefs).toContain(url?.split("/web/")[1]);
    await sessions(page)
      .locator(`[href="${url?.split("/web/")[1]}"]`)
      .click();
    await page.getByText("The session is open. It has 1 recorded episode").waitFor();
  });

  test("shows the queue of a full cluster, and the sessions of each worker", async () => {
    await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "1", QUEUE_SIZE: "1" });
    const players = await openAll(cluster.url, 2);
    // The page waits for its session like any client.
    const page = await open(cluster, { view: "server" });
    await page.getByText("In the queue", { exact: true }).waitFor();
    await page.getByText("0 free · 1 waiting").waitFor();
    await page.getByRole("img", { name: /^2 of 2 sessions in use/ }).waitFor();
    const workers = card(page, "Workers").locator("tbody tr");
    expect(await workers.count()).toBe(2);
    for (const { pid } of players) {
      const row = workers.filter({ hasText: String(pid) });
      await expect.poll(() => row.innerText(), { timeout: 20_000 }).toMatch(/1 \/ 1[\s\S]*%[\s\S]*MB[\s\S]*ms/);
    }
    const metrics = async () => {
      const text = await (await fetchAsOperator(`${cluster.url}/metrics`)).text();
      const descriptors = perWorker(text, "process_open_fds");
      return {
        waiting: perWorker(text, "openenv_sessions_waiting").sort(),
        open: descriptors.map((count) => count > 0),
      };
    };
    await expect.poll(metrics, { timeout: 20_000 }).toEqual({ waiting: [0, 1], open: [true, true] });
    for (const { socket } of players) await socket[Symbol.asyncDispose]();
    await page.getByText("Connected", { exact: true }).waitFor();
    await page.getByText("1 free · 0 waiting").waitFor();
    await page.close();
  });

  test("shows a blocked worker, and the number of its sessions that cannot be listed", async () => {
    await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "4", WORKER_TIMEOUT: "60" });
    const players = await openAll(cluster.url, 1);
    const { socket, pid } = players[0] as (typeof players)[number];
    const page = await open(cluster, { view: "server" });
    const workers = card(page, "Workers").locator("tbody tr");
    await sessions(page).nth(1).waitFor();
    socket.send({ type: "step", data: { amount: 14 } });
    // The page's session may be in that worker, too.
    const lost = workers.filter({ hasText: String(pid) });
    // The browser may keep six connections to that worker, and the page gives up each after 5 s.
    await lost.getByText(/^No answer for \d+ s$/).waitFor({ timeout: 45_000 });
    expect(await lost.innerText()).toMatch(/[12] \/ 4/);
    expect(await workers.count()).toBe(2);
    await card(page, "Workers").getByText("1 worker does not answer").waitFor();
    await page.getByText(/^[12] sessions? of a worker that does not answer (is|are) not listed\.$/).waitFor();
    expect(await sessions(page).count()).toBeLessThan(2);
    expect(await page.getByText("No session is open.").count()).toBe(0);
    expect(await width(page)).toBeLessThanOrEqual(DESK.width);
    process.kill(pid, "SIGKILL");
    await page.getByText("1 worker does not answer").waitFor({ state: "detached" });
    await card(page, "Errors", "WORKER_LOST").waitFor();
    await page.close();
  });

  test("shows a session that waits for its client, and since when", async () => {
    const server = await start(defineCounter().environment);
    const socket = await openTestSocket(`${server.url}/ws?openenv=resume`);
    const token_hash = createHash("sha256").update("token").digest("hex");
    const { data } = (await socket.ask({ type: "resume", data: { token_hash } })) as { data: { session_id: string } };
    await socket.ask({ type: "reset", seq: 1, ack: 0 });
    socket.ws.terminate();
    const page = await open(server, { view: "server" });
    await page.getByLabel("Find a session").fill("detached");
    await sessions(page)
      .getByText(/^Detached for \d+ s$/)
      .waitFor();
    // The page finds the session a moment before it hides its own.
    await expect.poll(() => sessions(page).count()).toBe(1);
    await using next = await openTestSocket(`${server.url}/ws?openenv=resume&session_id=${data.session_id}`);
    await next.ask({ type: "resume", data: { token: "token" } });
    await page.getByText("No session matches").waitFor();
  });

  test("does not update or poll while it is paused", async () => {
    const server = await start(defineCounter().environment);
    const page = await open(server, { view: "server" });
    await sessions(page).first().waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("Paused").waitFor();
    let requests = 0;
    page.on("request", (request) => (requests += request.url().includes("/web/server") ? 1 : 0));
    await using env = await connect(server.url);
    await env.reset();
    await page.waitForTimeout(1_500);
    expect(requests).toBe(0);
    expect(await sessions(page).count()).toBe(1);
    await page.getByRole("button", { name: "Resume" }).click();
    await sessions(page).nth(1).waitFor();
  });

  test("does not poll while another view is shown, and keeps its history", async () => {
    const page = await open(await start(defineCounter().environment), { view: "server" });
    await sessions(page).first().waitFor();
    await page.getByRole("link", { name: "About" }).click();
    await page.getByRole("heading", { name: "Facts" }).waitFor();
    let requests = 0;
    page.on("request", (request) => (requests += request.url().includes("/web/server") ? 1 : 0));
    await page.waitForTimeout(1_500);
    expect(requests).toBe(0);
    await page.getByRole("link", { name: "Server" }).click();
    await sessions(page).first().waitFor();
  });

  test("sorts and finds sessions, and marks the page's own", async () => {
    const server = await start(defineCounter().environment);
    await using first = await connect(server.url);
    await first.reset();
    await using second = await connect(server.url);
    await second.reset();
    for (let at = 0; at < 3; at++) await second.step({ amount: 1 });
    const page = await open(server, { view: "play" });
    await page
      .getByRole("button", { name: /^Reset/ })
      .first()
      .click();
    await page.getByText("Episode 1 started").waitFor({ state: "attached" });
    await page.getByRole("link", { name: "Server" }).click();
    await sessions(page).nth(2).waitFor();
    await page.getByRole("button", { name: "Step", exact: true }).click();
    const header = page.getByRole("columnheader", { name: "Step", exact: true });
    expect(await header.getAttribute("aria-sort")).toBe("descending");
    // The server sorts.
    const steps = (row: "first" | "last") => () => sessions(page)[row]().getByRole("cell").nth(3).innerText();
    await expect.poll(steps("first"), { timeout: 20_000 }).toBe("3");
    await page.getByRole("button", { name: "Step", exact: true }).click();
    expect(await header.getAttribute("aria-sort")).toBe("ascending");
    await expect.poll(steps("last"), { timeout: 20_000 }).toBe("3");
    await page.getByLabel("Find a session").fill("this page");
    await expect.poll(() => sessions(page).count(), { timeout: 20_000 }).toBe(1);
    await page.getByLabel("Find a session").fill("nobody");
    await page.getByText("No session matches “nobody”.").waitFor();
  });

  test("shows the longest calls of more sessions than it lists, sorted and searched by the server", async () => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const stuck = defineEnvironment(
      defineContract({ name: "stuck_env", action: z.object({ wait: z.boolean() }), observation: z.object({}) }),
      () => ({
        reset: () => ({ observation: {} }),
        step: async ({ wait }) => {
          if (wait) await released;
          return { observation: {} };
        },
      }),
    );
    const server = await start(stuck, { maxConcurrentEnvs: 1_300 });
    const calls = await Promise.all(Array.from({ length: 13 }, () => openTestSocket(`${server.url}/ws`)));
    for (const [at, call] of calls.entries()) {
      await call.ask({ type: "reset", data: { episode_id: `call-${at}` } });
      call.send({ type: "step", data: { wait: true } });
    }
    // They opened later and were active later.
    const others = [];
    while (others.length < 1_200) {
      others.push(...(await Promise.all(Array.from({ length: 100 }, () => openTestSocket(`${server.url}/ws`)))));
    }
    for (const other of others) await other.ask({ type: "reset", data: {} });
    const page = await open(server, { view: "server" });
    await page.getByText(/^1,21\d of 1,21\d$/).waitFor();
    // Only the rows around the visible ones are drawn.
    expect(await sessions(page).count()).toBeLessThanOrEqual(100);
    const slow = sessions(page).filter({ hasText: "In a call for" });
    await expect.poll(() => slow.count(), { timeout: 20_000 }).toBe(13);
    expect(await sessions(page).nth(12).innerText()).toContain("In a call for");
    await page.getByLabel("Find a session").fill("call-7");
    await page.getByText(/^1 of 1,21\d$/).waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByLabel("Find a session").fill("in a call");
    await page.getByText(/^13 of 1,21\d$/).waitFor();
    await page.getByLabel("Find a session").fill("");
    await page.getByRole("button", { name: "Step", exact: true }).click();
    await page.getByText("Paused").waitFor();
    await page.getByText(/^1,21\d of 1,21\d$/).waitFor();
    const table = page.getByRole("region", { name: "Sessions, scrolls" });
    await table.evaluate((region) => region.scrollTo(0, region.scrollHeight));
    // The last one is listed where the table ends.
    const last = page.locator(
      `[aria-rowindex="${await page.locator("table.sessions").getAttribute("aria-rowcount")}"]`,
    );
    await last.waitFor();
    const [row, region] = [await last.boundingBox(), await table.boundingBox()];
    expect(Math.abs((row?.y ?? 0) + (row?.height ?? 0) - (region?.y ?? 0) - (region?.height ?? 0))).toBeLessThan(20);
    expect(await sessions(page).count()).toBeLessThanOrEqual(100);
    release();
    for (const { ws } of [...calls, ...others]) ws.close();
  }, 120_000);

  test("shows many sessions on demand, and no column moves while the numbers change", async () => {
    const server = await start(defineCounter().environment, { maxConcurrentEnvs: 100 });
    // The oldest is first in the list.
    const env = await connect(server.url);
    // Plain sockets, because a client would request the schema each time.
    const others = await Promise.all(Array.from({ length: 59 }, () => openTestSocket(`${server.url}/ws`)));
    const page = await open(server, { view: "server" });
    await page.getByText("61 of 61").waitFor();
    const columns = () =>
      page.locator("table.sessions th").evaluateAll((all) => all.map((th) => Math.round(th.getBoundingClientRect().x)));
    const before = await columns();
    await env.reset();
    for (let at = 0; at < 1_200; at++) await env.step({ amount: at % 2 === 0 ? 1 : -1 });
    await sessions(page).filter({ hasText: "1,200" }).waitFor();
    expect(await columns()).toEqual(before);
    await sessions(page).nth(60).waitFor();
    for (const { ws } of others) ws.close();
    await env.close();
    await page.getByText("1 of 1", { exact: true }).waitFor();
  });

  test("asks for the operator token, and stores it as long as the tab is open", async () => {
    expectProblem(/status of 401/);
    const server = await start(defineCounter().environment, { operatorToken: "letmein" });
    const page = await pages.open(server, { view: "server" });
    await page.getByText("This view is for the operator").waitFor();
    const field = page.getByLabel("Operator token");
    await field.fill("guess");
    await field.press("Enter");
    await page.getByText(/rejected this token/).waitFor();
    expect(await field.evaluate((input) => input === document.activeElement)).toBe(true);
    await field.fill("letmein");
    await page.getByRole("button", { name: "Open" }).click();
    await sessions(page).first().waitFor();
    await page.locator("main:focus").waitFor();
    expect(await page.evaluate(() => JSON.stringify([{ ...localStorage }, document.cookie]))).not.toContain("letmein");
    expect(page.url()).not.toContain("letmein");
    await page.getByRole("link", { name: "About" }).click();
    await page.getByRole("link", { name: "Server" }).click();
    await sessions(page).first().waitFor();
    await page.reload();
    await sessions(page).first().waitFor();
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.getByText("This view is for the operator").waitFor();
  });

  test("reads the token from the URL that serve prints, and removes it there", async () => {
    const server = await start(defineCounter().environment, { operatorToken: "t0ken/+ = 1" });
    const requests: string[] = [];
    const page = await pages.open(server, { view: "about" });
    page.on("request", (request) => requests.push(request.url()));
    const address = `${server.url}/web/#token=${encodeURIComponent("t0ken/+ = 1")}`;
    // Also in a tab that has the page open, where only the fragment changes.
    await page.goto(address);
    await expect.poll(() => page.url()).toBe(`${server.url}/web/`);
    await page.getByRole("link", { name: "Server" }).click();
    await sessions(page).first().waitFor();
    const fresh = await pages.open(server, { token: "t0ken/+ = 1" });
    await fresh.goto(address);
    await expect.poll(() => fresh.url()).toBe(`${server.url}/web/`);
    await fresh.goBack();
    expect(fresh.url()).not.toContain("token");
    expect(requests.filter((url) => url.includes("t0ken"))).toEqual([]);
  });

  test("explains that a server without a token has no operator", async () => {
    const page = await pages.open(await pages.start(defineCounter().environment), { view: "server" });
    await page.getByText("This view is for the operator").waitFor();
    await page.getByText("OPENENV_OPERATOR_TOKEN").waitFor();
    expect(await page.getByLabel("Operator token").count()).toBe(0);
  });

  test("keeps the last numbers when the server is gone, reports it, and continues with the next one", async () => {
    // No other process takes this port between the two servers.
    const port = await findFreePort();
    const server = await start(defineCounter().environment, { maxConcurrentEnvs: 5, port });
    const page = await open(server, { view: "server" });
    await sessions(page).first().waitFor();
    await server.close();
    await page.getByText("The numbers are out of date.").waitFor();
    expect(await page.getByText("of 5", { exact: true }).count()).toBe(1);
    await start(defineCounter().environment, { maxConcurrentEnvs: 9, port });
    await page.getByText("of 9", { exact: true }).waitFor();
    await page.getByText("Live, every second").waitFor();
  });

  test("reports a stuck server, and continues once it responds", async () => {
    const page = await open(await start(defineCounter().environment), { view: "server" });
    await sessions(page).first().waitFor();
    await page.route("**/web/server*", () => {});
    await page.getByText("The server has not responded for 5 s.").waitFor();
    expect(await page.getByText("Live, every second").count()).toBe(0);
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await page.getByText("Live, every second").waitFor();
  });

  test("fits the window and has no accessibility violations", async () => {
    const server = await start(defineCounter().environment);
    await using env = await connect(server.url);
    await env.reset();
    await env.tryStep({ amount: 13 });
    const guarded = await start(defineCounter().environment, { operatorToken: "letmein" });
    for (const size of [DESK, PHONE]) {
      const page = await open(server, { view: "server", size });
      await sessions(page).first().waitFor();
      expect(await faults(page)).toEqual([]);
      expect(await width(page)).toBeLessThanOrEqual(size.width);
      const closed = await pages.open(guarded, { view: "server", size });
      await closed.getByText("This view is for the operator").waitFor();
      expect(await faults(closed)).toEqual([]);
    }
  }, 120_000);
});

/** The rows of the table of sessions. */
function sessions(page: Page) {
  return page.locator("table.sessions tr[aria-rowindex]");
}

function card(page: Page, heading: string, hasText?: string) {
  const found = page.locator(".side .card", { has: page.getByRole("heading", { name: heading, exact: true }) });
  return hasText === undefined ? found : found.filter({ hasText });
}

/** The values of a metric by worker. */
function perWorker(text: string, name: string): number[] {
  return [...text.matchAll(new RegExp(`^${name}\\{worker="\\d+"\\} (\\S+)$`, "gm"))].map(([, value]) => Number(value));
}
