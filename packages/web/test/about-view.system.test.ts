import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { defineContract, defineEnvironment } from "openenv-ts";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import echo from "../../../envs/echo/server/environment.js";
import wordle from "../../../envs/wordle/server/environment.js";
import { defineDesk } from "../../../test-support/environments/tool-environment.js";
import { faults } from "./axe.js";
import { DESK, PHONE, requireChromium, reset, usePages, width } from "./pages.js";
import { startProxy } from "./proxy.js";
import { useFolders } from "./rollouts.js";
import zoo, { DOT } from "./zoo.js";

const chromium = await requireChromium();

const README = `---
title: Hostile
sdk: docker
---
# Hostile

<!-- not for readers -->
<script>document.title = "owned"</script>
<img src=x onerror="document.title='owned'">

[run](javascript:document.title='owned') [data](data:text/html,owned) [file](docs/more.md)
[site](https://example.org/a) [below](#the-end)

![a picture elsewhere](https://example.org/a.png) ![a dot](${DOT}) ![missing](docs/a.png)

| name | value |
|---|---|
| \`a\` | **1** |

1. first
2. ~~second~~

\`\`\`ts
const a = "<b>";
\`\`\`

${"Long enough to scroll.\n\n".repeat(60)}
## The end
`;

const hostile = defineEnvironment(
  defineContract({ name: "hostile_env", action: z.object({ go: z.boolean() }), observation: z.object({}) }),
  () => ({ reset: () => ({ observation: {} }), step: () => ({ observation: {} }) }),
  { readme: README, author: "Somebody", documentationUrl: "https://example.org/docs" },
);

describe.skipIf(!chromium.available)("the About view", () => {
  const { start, open } = usePages(chromium);
  const makeFolder = useFolders();

  test("shows the report of a validation, failed checks first", async () => {
    const folder = await makeFolder();
    await mkdir(folder);
    const reportPath = join(folder, "report.json");
    const results = [
      { check_id: "static.manifest", status: "pass", evidence: [], remediation: null },
      { check_id: "semantic.oracle_max", status: "skip", evidence: ["no oracle"], remediation: null },
      {
        check_id: "semantic.trivial_floor",
        status: "fail",
        evidence: ["<b>empty</b> earns 1"],
        remediation: "Grade it.",
      },
      { check_id: "runtime.network_policy", status: "skip", evidence: ["no block"], not_applicable: true },
    ];
    const report = { verdict: "fail", policy_version: "v2", results, unknown: ["semantic.oracle_max"] };
    await writeFile(reportPath, JSON.stringify(report));
    const page = await open(await start(hostile, { reportPath }), { view: "about", size: DESK });
    const card = page.getByRole("region", { name: "Validation" });
    await card.getByText("fail: 1 of 4 checks passed, policy v2").waitFor();
    const rows = card.locator("tbody tr");
    expect((await rows.allInnerTexts()).map((text) => text.split("\t").slice(0, 2))).toEqual([
      ["semantic.trivial_floor", "fail"],
      ["semantic.oracle_max", "unknown"],
      ["static.manifest", "pass"],
    ]);
    expect(await rows.first().innerText()).toContain("<b>empty</b> earns 1\n\nTo fix: Grade it.");
    expect(await faults(page)).toEqual([]);
    await page.setViewportSize(PHONE);
    expect(await width(page)).toBe(PHONE.width);
  });

  test("renders the README without running code or loading anything from other hosts", async () => {
    const page = await open(await start(hostile), { view: "about" });
    const readme = page.locator(".prose");
    await readme.getByRole("heading", { name: "Hostile", level: 3 }).waitFor();
    const text = await readme.innerText();
    expect(text).toContain(`<script>document.title = "owned"</script>`);
    expect(text).not.toContain("not for readers");
    expect(text).not.toContain("sdk: docker");
    expect(await page.title()).toBe("About · hostile_env");
    expect(await readme.locator("script, iframe, [onerror]").count()).toBe(0);
    expect(await readme.locator("img").evaluateAll((all) => all.map((img) => img.getAttribute("alt")))).toEqual([
      "a dot",
    ]);
    const links = await readme.locator("a").evaluateAll((all) => all.map((a) => a.getAttribute("href")));
    expect(links).toEqual(["https://example.org/a", "#the-end", "https://example.org/a.png"]);
    expect(await readme.getByRole("cell", { name: "1", exact: true }).count()).toBe(1);
    expect(await readme.locator("ol > li").count()).toBe(2);
    expect(await readme.locator("pre code").innerText()).toContain('const a = "<b>";');
  });

  test("follows links inside the README without leaving the view", async () => {
    const page = await open(await start(hostile), { view: "about" });
    await page.getByRole("link", { name: "below" }).click();
    await page.waitForFunction(() => {
      const { top = 1e9 } = document.getElementById("readme-the-end")?.getBoundingClientRect() ?? {};
      return top >= 0 && top < innerHeight;
    });
    expect(page.url()).toMatch(/#\/about$/);
  });

  test("is the target of the skip link, not the view behind it", async () => {
    const page = await open(await start(hostile), { view: "about" });
    await page.getByRole("heading", { name: "Facts" }).waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    expect(await page.locator("main:focus").getByRole("heading", { name: "Facts" }).count()).toBe(1);
  });

  test("shows facts and links to every documentation page of the server", async () => {
    const server = await start(hostile, { maxConcurrentEnvs: 4 });
    const page = await open(server, { view: "about" });
    await page.getByText("of 4 free").waitFor();
    await page.getByText("Somebody").waitFor();
    const links = await page
      .locator(".card", { has: page.getByRole("heading", { name: "Reference" }) })
      .locator("a")
      .evaluateAll((all) => all.map((a) => (a as HTMLAnchorElement).href));
    expect(links.map((href) => href.slice(server.url.length))).toEqual(
      expect.arrayContaining(["/docs", "/schema", "/metadata", "/openapi.json"]),
    );
    for (const link of links) expect((await fetch(link)).status).toBe(200);
  });

  test("shows the schemas as tables, the tools with their arguments, and the JSON", async () => {
    const page = await open(await start(zoo), { view: "about" });
    const row = (name: string) => page.getByRole("row", { name: new RegExp(`^${name.replace(/[[\].]/g, "\\$&")} `) });
    expect(await row("color").innerText()).toMatch(/"red" or "green" or "blue"\s+required\s+A colour/);
    await row("points[].x").waitFor();
    await page.getByRole("tab", { name: "Observation" }).click();
    expect(await row("received").innerText()).toContain("The action as it came");
    await page.getByRole("tab", { name: "Observation" }).press("ArrowRight");
    expect(await row("step_count").innerText()).toContain("integer");
    await page.getByRole("tab", { name: "JSON Schema" }).click();
    await page.getByRole("region", { name: "JSON Schema" }).getByText('"ZooAction"').waitFor();
    const desk = await open(await start(defineDesk().environment), { view: "about" });
    await desk.getByRole("tab", { name: "Tools" }).click();
    await desk.getByRole("heading", { name: "greet" }).waitFor();
    expect(await desk.locator(".tool-list > li", { hasText: "tally" }).innerText()).toContain(
      "This tool takes no arguments.",
    );
  });

  test("has snippets with this server's URL, also below a prefix, which are copied in full", async () => {
    const server = await start(echo);
    await using proxy = await startProxy(server, "/spaces/echo");
    const page = await open(proxy, { path: "/spaces/echo", view: "about" });
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    for (const [tab, expected] of [
      ["TypeScript", `connect("${proxy.url}/spaces/echo")`],
      ["Python", `GenericEnvClient(base_url="${proxy.url}/spaces/echo")`],
      ["curl", `URL='${proxy.url}/spaces/echo'`],
      ["Docker", "docker run --rm -p 127.0.0.1:"],
    ] as const) {
      await page.getByRole("tab", { name: tab }).click();
      const shown = (await page.locator(".snippet pre").textContent()) ?? "";
      expect(shown).toContain(expected);
      const copy = page.locator(".snippet").getByRole("button", { name: "Copy" });
      await copy.waitFor();
      // The button shows it only for a moment, so the page itself waits for it.
      const copied = page.evaluate(
        () =>
          new Promise<void>((resolve) => {
            const look = (): void => {
              if (document.querySelector(".snippet")?.textContent?.includes("Copied")) resolve();
              else requestAnimationFrame(look);
            };
            look();
          }),
      );
      await Promise.all([copied, copy.click()]);
      await expect.poll(() => page.evaluate(() => navigator.clipboard.readText()), { timeout: 20_000 }).toBe(shown);
    }
  });

  test("writes the snippets with the last action of this tab", async () => {
    const page = await open(await start(wordle), { view: "play" });
    await reset(page);
    await page.getByLabel("Message").fill("[crane]");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
    await page.getByRole("link", { name: "About" }).click();
    await page.getByText('await env.step({ message: "[crane]" })').waitFor();
  });

  test("describes an environment that has no README", async () => {
    const page = await open(await start(zoo), { view: "about" });
    await page.getByText("One field of every kind that a schema can have.").waitFor();
    await page.getByText(/README\.md .* is shown here/).waitFor();
  });

  test("fits the window and has no accessibility violations", async () => {
    for (const environment of [hostile, zoo, defineDesk().environment]) {
      const server = await start(environment);
      for (const size of [DESK, PHONE]) {
        const page = await open(server, { view: "about", size });
        await page.getByRole("tab", { name: "Python" }).click();
        await page.locator(".prose p").first().waitFor();
        expect(await faults(page)).toEqual([]);
        expect(await width(page)).toBeLessThanOrEqual(size.width);
        for (const tab of ["Observation", "JSON Schema"]) {
          await page.getByRole("tab", { name: tab }).click();
          expect(await width(page)).toBeLessThanOrEqual(size.width);
        }
        expect(await faults(page)).toEqual([]);
      }
    }
  }, 240_000);
});
