import { expect, test } from "vitest";
import * as z from "zod";
import { type Contract, defineContract } from "../../../openenv/src/contract/contract.js";
import { renderBanner } from "./banner.js";

const bannerOf = ({ name, version, schemas }: Contract, webInterface = true): Promise<string> =>
  renderBanner("http://127.0.0.1:8000", { name, version, schemas: schemas(), webInterface });

test("the page is named where there is one", async () => {
  const contract = defineContract({ name: "a_env", action: z.object({}), observation: z.object({}) });
  expect(await bannerOf(contract)).toContain("\n  http://127.0.0.1:8000/web/ ");
  expect(await bannerOf(contract, false)).not.toContain("/web");
});

test("the example action fits the contract, in the literals of each language", async () => {
  const action = z.object({
    move: z.object({ direction: z.enum(["north", "south"]), steps: z.int().min(3) }),
    path: z.array(z.number().max(-2)).min(2),
    fast: z.boolean(),
    note: z.string().nullable(),
    kind: z.literal("walk"),
    optional: z.string().optional(),
    preset: z.int().default(4),
  });
  const contract = defineContract({ name: "walk_env", action, observation: z.object({}) });
  const banner = await bannerOf(contract);
  expect(banner).not.toContain("An example");
  const [, typescript = ""] = /console\.log\(await env\.step\((.*)\)\);/.exec(banner) ?? [];
  const [, python = ""] = /print\(env\.step\((.*)\)\)/.exec(banner) ?? [];
  expect(python).toContain('"fast": True');
  const pythonAsJson = python.replaceAll("True", "true").replaceAll("None", "null");
  const typescriptAsJson = typescript.replaceAll(/(\w+):/g, '"$1":');
  for (const text of [pythonAsJson, typescriptAsJson]) {
    expect(action.parse(JSON.parse(text))).toMatchObject({ move: { direction: "north", steps: 3 }, path: [-2, -2] });
  }
});

test("where no sample fits the schema, the example says so in each language", async () => {
  const action = z.object({ code: z.string().regex(/^(?=.*x)(?=.*y)[xy]+$/) });
  const banner = await bannerOf(defineContract({ name: "code_env", action, observation: z.object({}) }));
  expect(banner).toMatch(/\n {2}\/\/ An example: this environment requires other values.*\n {2}console\.log/);
  expect(banner).toMatch(/\n {6}# An example: this environment requires other values.*\n {6}print/);
});

test("an action that contains itself ends somewhere", async () => {
  const node = z.object({
    get next() {
      return node;
    },
  });
  const contract = defineContract({ name: "loop_env", action: node, observation: z.object({}) });
  expect(await bannerOf(contract)).toContain("next: null");
});
