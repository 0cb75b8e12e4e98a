import { defineContract, defineEnvironment, image } from "openenv-ts";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { faults } from "./axe.js";
import { requireChromium, reset, usePages } from "./pages.js";
import { NO_PICTURES, PICTURES } from "./pictures.js";

const chromium = await requireChromium();

/** Its observation is texts, none of which says in its schema that it is a picture. */
const observation = { ...PICTURES, plain: `data:image/gif;base64,${PICTURES.gif}`, ...NO_PICTURES };
const contract = defineContract({
  name: "pictures_env",
  action: z.object({}),
  observation: z.object(Object.fromEntries(Object.keys(observation).map((name) => [name, z.string()]))),
});
const environment = defineEnvironment(contract, () => ({
  reset: () => ({ observation }),
  step: () => ({ observation }),
}));

describe.skipIf(!chromium.available)("the step", () => {
  const { start, open } = usePages(chromium);

  test("shows texts that hold a picture as pictures, and no others", async () => {
    const page = await open(await start(environment));
    await reset(page);
    const field = (name: string) => page.locator(".pane--step .rows > div", { hasText: new RegExp(`^${name}`) });
    const types = { png: "png", jpeg: "jpeg", gif: "gif", webp: "webp", plain: "gif" };
    for (const [name, type] of Object.entries(types)) {
      await field(name).getByText(`image/${type}, 8 × 6`).waitFor();
    }
    for (const [name, text] of Object.entries(NO_PICTURES)) {
      expect(await field(name).locator("dd").innerText()).toBe(text);
    }
    expect(await page.locator(".pane--step img").count()).toBe(Object.keys(types).length);
  });

  test("shows small pictures inside objects and lists as pictures", async () => {
    const nested = defineEnvironment(
      defineContract({ name: "nested_env", action: z.object({}), observation: z.object({ board: z.unknown() }) }),
      () => ({
        reset: () => ({ observation: { board: { icon: PICTURES.gif, all: [PICTURES.png, "two"] } } }),
        step: () => ({ observation: { board: null } }),
      }),
    );
    const page = await open(await start(nested));
    await reset(page);
    await page.locator(".pane--step img").nth(1).waitFor();
    expect(await page.locator(".pane--step .rows").last().innerText()).not.toContain("R0lGOD");
  });

  describe.skipIf(!chromium.available)("a field for a picture", () => {
    const { start, open } = usePages(chromium);

    test("takes a file, shows it, and sends it as a data URL", async () => {
      const looks = defineEnvironment(
        defineContract({
          name: "looks_env",
          action: z.object({ look: image(), note: z.string().default("") }),
          observation: z.object({ size: z.int() }),
        }),
        () => ({
          reset: () => ({ observation: { size: 0 } }),
          step: ({ look }) => ({ observation: { size: look.length } }),
        }),
      );
      const page = await open(await start(looks));
      await reset(page);
      const file = { name: "dot.gif", mimeType: "image/gif", buffer: Buffer.from(PICTURES.gif, "base64") };
      await page.locator(".upload input[type=file]").setInputFiles(file);
      await page.locator(".upload").getByText("image/gif, 8 × 6").waitFor();
      await page.getByLabel("Note").fill("with a picture");
      await page.getByLabel("Note").press("Enter");
      await page.getByRole("heading", { name: "Step 1" }).waitFor();
      await page.getByRole("tab", { name: "Raw JSON" }).click();
      const sent = JSON.parse(await page.locator(".frame").first().locator("pre").innerText());
      expect(sent.data.look).toBe(`data:image/gif;base64,${PICTURES.gif}`);
      expect(await faults(page)).toEqual([]);
      await page.getByRole("button", { name: "Remove" }).click();
      await page.getByText("Choose a picture").waitFor();
      expect(await page.locator(".upload img").count()).toBe(0);
      expect(await faults(page)).toEqual([]);
    });
  });
});
