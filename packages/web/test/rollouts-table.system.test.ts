import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { OPERATOR_TOKEN, WITH_OPERATOR } from "../../../test-support/operator.js";
import { startGateway } from "../../../test-support/proxies/gateway.js";
import { openTestSocket } from "../../../test-support/sockets/socket.js";
import { faults } from "./axe.js";
import { DESK, PHONE, requireChromium, usePages, width } from "./pages.js";
import desk, { type DeskEpisode, playAll, playOn, useFolders } from "./rollouts.js";

const chromium = await requireChromium();

/** Four groups of four episodes with 1 to 4 steps; in the group `equal` all rewards are equal. */
const EPISODES: readonly DeskEpisode[] = ["wide", "narrow", "equal", "refused"].flatMap((group, at) =>
  Array.from({ length: 4 }, (_, number) => ({
    seed: at * 10 + number,
    group,
    steps: [
      ...Array.from({ length: number }, () => ({ reward: 0 })),
      ...(group === "refused" ? [{ reward: 0, refuse: `Order ${number + 17} is closed` }] : []),
      {
        reward: { wide: number - 1, narrow: 0.5 + number / 100, equal: -0.5, refused: number / 10 }[group] ?? 0,
        end: true,
      },
    ],
  })),
);

describe.skipIf(!chromium.available)("the table of rollouts", () => {
  const { start, open, expectProblem } = usePages(chromium);
  const makeFolder = useFolders();

  const record = async (episodes = EPISODES, options = {}) => {
    const server = await start(desk, { store: await makeFolder(), maxConcurrentEnvs: 64, ...options });
    await playAll(server.url, episodes);
    return server;
  };

  test("is found in the bar only where the server records, and needs the right to read", async () => {
    const without = await open(await start(desk), { view: "rollouts" });
    await without.getByText("This server records no episodes").waitFor();
    expect(await without.getByRole("link", { name: "Rollouts" }).count()).toBe(0);
    const server = await record(EPISODES.slice(0, 2), WITH_OPERATOR);
    expectProblem(/status of 40[13]/);
    const page = await open(server, { view: "rollouts" });
    await page.goto(`${server.url}/web/#/session/some`);
    await page.getByText("This page requires a token with permission to read rollouts.").waitFor();
    await page.getByLabel("Token").fill("wrong");
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByText("The server rejected this token.").waitFor();
    await page.goto(`${server.url}/web/#/rollouts`);
    await page.getByText("You need permission to read rollouts").waitFor();
    expect(await faults(page, "Not connected")).toEqual([]);
    await page.getByLabel("Token").fill(OPERATOR_TOKEN);
    await page.getByRole("button", { name: "Open" }).click();
    await expect.poll(() => rows(page).count(), { timeout: 20_000 }).toBe(2);
  });

  test("is filtered by the text of its query, whose terms are chips, and which is the address", async () => {
    const page = await opened(await record());
    await page.keyboard.press("/");
    await page.keyboard.type("reward:<0 ");
    await heading(page, "5 episodes");
    await expect.poll(() => new URL(page.url()).hash).toBe("#/rollouts?q=reward:%3C0");
    await page.keyboard.type("group:equal");
    await page.keyboard.press("Enter");
    await heading(page, "4 episodes");
    await page.getByRole("button", { name: "Remove group: equal" }).waitFor();
    await page.keyboard.press("Backspace");
    await heading(page, "5 episodes");
    await page.keyboard.type("stepz:>1");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("Did you mean steps?").waitFor();
    expect(await faults(page, "Not connected")).toEqual([]);
    await heading(page, "5 episodes");
    await page.goBack();
    await page.getByRole("alert").waitFor({ state: "detached" });
    await page.goto(page.url().replace(/#.*/, "#/rollouts?q=group:wide&by=group&sort=count"));
    await heading(page, "1 group");
    await page.getByRole("button", { name: "Remove group: wide" }).waitFor();
  });

  test("is filtered by a brush, with keys and with the mouse, and by outcomes and failures", async () => {
    const page = await opened(await record());
    const least = page.getByRole("slider", { name: "Least steps" });
    await least.press("End");
    await heading(page, "1 episode");
    await least.press("ArrowLeft");
    await heading(page, "5 episodes");
    await least.press("Shift+ArrowLeft");
    await heading(page, "4 episodes");
    await least.press("Delete");
    await heading(page, "16 episodes");
    const box = await page.locator(".facet--reward .brush").boundingBox();
    if (!box) throw new Error("there is no histogram");
    const hash = () => page.evaluate(() => location.hash);
    for (const isCanceled of [true, false]) {
      await page.mouse.move(box.x + 1, box.y + 10);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.8, box.y + 10, { steps: 4 });
      if (isCanceled) await page.locator(".facet--reward .brush").dispatchEvent("pointercancel");
      await page.mouse.up();
      expect((await hash()).includes("reward")).toBe(!isCanceled);
    }
    await heading(page, "1 episode");
    // A drag whose move is not drawn when the pointer is up.
    await page.mouse.move(box.x + 1, box.y + 10);
    await page.mouse.down();
    await page.locator(".facet--reward .brush").evaluate(
      (brush, clientX) => {
        for (const type of ["pointermove", "pointerup"]) {
          brush.dispatchEvent(new PointerEvent(type, { bubbles: true, clientX }));
        }
      },
      box.x + box.width * 0.8,
    );
    await page.mouse.up();
    expect(await hash()).toBe("#/rollouts?q=reward:%3C1.5");
    await page.getByRole("button", { name: /^Remove reward/ }).click();
    await page.getByRole("region", { name: "Failures" }).getByRole("button").click();
    await heading(page, "4 episodes");
    expect(await page.locator(".chip").innerText()).toMatch(/Order # is closed/);
  });

  test("shows groups by the spread of their rewards, folds them, and compares two marked episodes", async () => {
    const page = await opened(await record(), "rollouts?by=group");
    await heading(page, "4 groups");
    expect(await names(page)).toEqual(["wide", "refused", "narrow", "equal"]);
    expect(await rows(page).filter({ hasText: "No signal" }).allInnerTexts()).toHaveLength(1);
    await page.getByRole("treegrid").focus();
    await page.keyboard.press("ArrowDown");
    expectProblem(/ERR_FAILED/);
    await page.route(/\/rollouts\?q=group/, (route) => route.abort());
    await page.keyboard.press("ArrowRight");
    await page.getByText("The rows are out of date.").waitFor();
    expect(await rows(page).count()).toBe(4);
    await page.unroute(/\/rollouts\?q=group/);
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => rows(page).count()).toBe(8);
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    const compare = page.getByRole("link", { name: /^Compare A and B/ });
    expect(await compare.getAttribute("href")).toMatch(/^#\/compare\/[0-9a-f]{16}\/[0-9a-f]{16}$/);
    expect(await faults(page, "Not connected")).toEqual([]);
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    await expect.poll(() => rows(page).count()).toBe(4);
  });

  test("leaves the row that is read where it is while episodes begin and change", async () => {
    const server = await record();
    const page = await opened(server);
    await rows(page).nth(3).click();
    const place = () => page.locator('.gt__row[aria-selected="true"]').boundingBox();
    const before = await place();
    await using socket = await openTestSocket(`${server.url}/ws`);
    await playOn(socket, { seed: 99, group: "late", steps: [{ reward: 0.25 }] });
    await page.getByRole("button", { name: "1 new" }).waitFor();
    expect(await place()).toEqual(before);
    await page.getByRole("button", { name: "1 new" }).click();
    const running = rows(page).filter({ hasText: "Running" });
    await running.getByText("0.25", { exact: true }).waitFor();
    await socket.ask({ type: "step", data: { reward: 0.5 } });
    await running.getByText("0.75", { exact: true }).waitFor();
  });

  test("counts groups and failures again while episodes end, each row where it is", async () => {
    const server = await record();
    const [groups, failures] = [await opened(server, "rollouts?by=group"), await opened(server, "rollouts?by=failure")];
    const equal = rows(groups).filter({ hasText: "equal" });
    await equal.click();
    await expect.poll(() => rows(groups).count()).toBe(8);
    const before = await names(groups);
    await equal.getByText("No signal").waitFor();
    await playAll(server.url, [
      { seed: 98, group: "new", steps: [{ reward: 9, end: true }] },
      {
        seed: 99,
        group: "equal",
        steps: [
          { reward: 0, refuse: "Order 5 is closed" },
          { reward: 9, end: true },
        ],
      },
    ]);
    await equal.getByText("No signal").waitFor({ state: "detached" });
    await equal.locator(".lo", { hasText: /^5$/ }).waitFor();
    expect(await names(groups)).toEqual(before);
    await rows(failures).locator("b", { hasText: /^5$/ }).waitFor();
    await groups.getByRole("button", { name: "2 new" }).click();
    await expect.poll(() => names(groups)).toEqual(["equal", "wide", "refused", "narrow", "new"]);
  });

  test("shows what changed while its stream was interrupted", async () => {
    const server = await record();
    await using gateway = await startGateway(server, "passes");
    const [page, other] = [await opened({ url: gateway.url }), await opened(server)];
    const running = (of: Page) => rows(of).filter({ hasText: "Running" });
    await using socket = await openTestSocket(`${server.url}/ws`);
    await playOn(socket, { seed: 99, group: "late", steps: [{ reward: 0.25 }] });
    for (const one of [page, other]) {
      await one.getByRole("button", { name: "1 new" }).click();
      await running(one).getByText("0.25", { exact: true }).waitFor();
    }
    gateway.turn("refuses");
    gateway.cut();
    await page.getByText("No response").waitFor();
    await socket.ask({ type: "step", data: { reward: 0.5 } });
    await running(other).getByText("0.75", { exact: true }).waitFor();
    gateway.turn("passes");
    await running(page).getByText("0.75", { exact: true }).waitFor();
  });

  test("shows the end of an episode that ends while older rows are on their way", async () => {
    const server = await record();
    const page = await opened(server);
    await using socket = await openTestSocket(`${server.url}/ws`);
    await playOn(socket, { seed: 99, group: "late", steps: [{ reward: 0.25 }] });
    const fresh = page.getByRole("button", { name: "1 new" });
    await fresh.waitFor();
    const running = page.getByRole("region", { name: "Outcome" }).getByRole("button", { name: "Running" });
    let older: unknown;
    await page.route(/\/rollouts\?/, async (route) => {
      const response = await route.fetch();
      older = (await response.json()).rows.find(({ group }: { group: string }) => group === "late");
      await socket.ask({ type: "step", data: { reward: 0.5, end: true } });
      await running.filter({ hasText: "0" }).waitFor();
      await route.fulfill({ response });
    });
    await fresh.click();
    const late = rows(page).filter({ hasText: "Done" }).getByText("0.75", { exact: true });
    await late.waitFor();
    expect(older).toMatchObject({ outcome: "running", reward: 0.25 });
  });

  test("names a failure of the first rows, and reads them again", async () => {
    const page = await open(await record(), { view: "about" });
    expectProblem(/ERR_FAILED/);
    await page.route(/\/rollouts\?/, (route) => route.abort());
    await page.getByRole("link", { name: "Rollouts" }).click();
    await page.getByText("The rollouts could not be read.").waitFor();
    await page.unroute(/\/rollouts\?/);
    await page.getByRole("button", { name: "Try again" }).click();
    await rows(page).first().waitFor();
  });

  test.each([
    ["a phone", [PHONE]],
    [
      "other screens",
      [{ width: 768, height: 1024 }, { width: 1280, height: 800 }, DESK, { width: 1920, height: 1080 }],
    ],
  ] as const)(
    "fits %s, without an accessibility violation",
    async (_, sizes) => {
      const server = await record();
      for (const by of ["episode", "group", "failure"]) {
        const page = await opened(server, `rollouts?by=${by}&q=steps:>0`, sizes[0]);
        for (const size of sizes) {
          await page.setViewportSize(size);
          expect(await faults(page, "Not connected", true)).toEqual([]);
          expect(await width(page)).toBeLessThanOrEqual(size.width);
        }
        if (sizes[0] === PHONE && by === "group") {
          await page.getByRole("button", { name: "Filter" }).tap();
          await page.getByRole("dialog", { name: "Filters" }).waitFor();
          expect(await faults(page, "Not connected")).toEqual([]);
        }
        await page.close();
      }
    },
    240_000,
  );

  async function opened(server: { url: string }, view = "rollouts", size = DESK): Promise<Page> {
    // The last episodes are written a moment after their answers.
    await expect.poll(() => total(server.url), { timeout: 20_000 }).toBe(16);
    const page = await open(server, { view, size });
    await rows(page).first().waitFor();
    return page;
  }
});

async function total(url: string): Promise<number> {
  const { outcomes } = (await (await fetch(`${url}/rollouts/facets`)).json()) as {
    outcomes: { done: { all: number } };
  };
  return outcomes.done.all;
}

function rows(page: Page) {
  return page.locator(".gt__row:visible");
}

function names(page: Page): Promise<string[]> {
  return rows(page).locator(".t").allInnerTexts();
}

async function heading(page: Page, text: string): Promise<void> {
  await page.getByRole("heading", { name: text, exact: true }).waitFor();
}
