import { defineContract, defineEnvironment } from "openenv-ts";
import { describe, expect, test } from "vitest";
import * as z from "zod";
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
});
