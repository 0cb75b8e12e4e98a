import specs from "@asyncapi/specs";
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { useServers } from "../../test-support/servers.js";
import { defineContract, defineEnvironment } from "../index.js";
import type { AsyncApi } from "./asyncapi.js";
import type { RunningServer, ServeOptions } from "./types.js";

const { start, open } = useServers();
const SCHEMA = specs.schemasWithoutId["3.0.0"] as object;

const nested = defineEnvironment(
  defineContract({
    name: "nested_<env>",
    action: z.object({ move: z.object({ to: z.enum(["a", "b"]) }).meta({ id: "Move" }) }),
    observation: z.object({ at: z.string() }),
  }),
  () => ({ reset: () => ({ observation: { at: "" } }), step: ({ move }) => ({ observation: { at: move.to } }) }),
);

async function document(server: RunningServer): Promise<AsyncApi> {
  const response = await fetch(`${server.url}/asyncapi.json`);
  expect(response.headers.get("content-type")).toBe("application/json");
  return (await response.json()) as AsyncApi;
}

/** The payload of a message, with what it refers to. */
function validatorOf(api: AsyncApi, name: string) {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: "urn:test:doc", components: api.components });
  const inDocument = JSON.parse(
    JSON.stringify(api.components.messages[name]?.payload).replaceAll('"#/', '"urn:test:doc#/'),
  );
  return ajv.compile(inDocument);
}

describe("GET /asyncapi.json", () => {
  test.each<ServeOptions>([{}, { mode: "production" }, { mode: "production", webInterface: true }])(
    "is a valid AsyncAPI document for %o",
    async (options) => {
      const api = await document(await start(options, { environment: nested }));
      const validate = new Ajv({ strict: false, validateFormats: false }).compile(SCHEMA);
      expect(validate(api), JSON.stringify(validate.errors?.slice(0, 3))).toBe(true);
      const refs = [...JSON.stringify(api).matchAll(/"\$ref":"(#\/(?:components|channels)[^"]+)"/g)];
      expect(refs.length).toBeGreaterThan(20);
      for (const [, ref = ""] of refs) {
        const found = ref
          .split("/")
          .slice(1)
          .reduce<unknown>((at, key) => (at as Record<string, unknown>)?.[key], api);
        expect(found, ref).toBeDefined();
      }
    },
  );

  test("describes the addresses that are there", async () => {
    const addresses = async (options: ServeOptions) =>
      Object.values((await document(await start(options))).channels).map(({ address }) => address);
    expect(await addresses({})).toEqual(["/ws", "/ws", "/mcp", "/ws/ui"]);
    expect(await addresses({ webInterface: false })).toEqual(["/ws", "/ws", "/mcp"]);
    expect(await addresses({ mode: "production" })).toEqual(["/ws", "/ws", "/mcp"]);
  });

  test("has examples that its server takes, and answers that fit it", async () => {
    const server = await start({}, { environment: nested });
    const api = await document(server);
    const socket = await open(server, "/ws?view=1");
    const answers: Record<string, string> = {
      reset: "observation",
      step: "observation",
      state: "stateAnswer",
      mcp: "mcpAnswer",
    };
    for (const [asked, answered] of Object.entries(answers)) {
      const example = api.components.messages[asked]?.examples?.[0]?.payload as Record<string, unknown>;
      const fits = validatorOf(api, asked);
      expect(fits(example), JSON.stringify(fits.errors)).toBe(true);
      const answer = await socket.ask(example);
      const fitsAnswer = validatorOf(api, answered);
      expect(fitsAnswer(answer), JSON.stringify([answer, fitsAnswer.errors])).toBe(true);
    }
    const error = await socket.ask({ type: "step", data: { move: 1 } });
    expect(validatorOf(api, "error")(error)).toBe(true);
    expect(validatorOf(api, "step")({ type: "step", data: { move: { to: "c" } } })).toBe(false);
  });
});

describe("the page of the frames", () => {
  test("shows every frame and schema, needs no script, and stays below a prefix", async () => {
    const server = await start({}, { environment: nested });
    const response = await fetch(`${server.url}/docs/frames`);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'self';/);
    const page = await response.text();
    const api = await document(server);
    for (const name of Object.keys(api.components.messages)) expect(page).toContain(`id="frame-${name}"`);
    for (const name of Object.keys(api.components.schemas)) expect(page).toContain(`id="schema-${name}"`);
    expect(page).toContain("nested_&#60;env&#62;");
    expect(page).not.toMatch(/<script|<style| style=| on\w+=|https?:|(href|src)="\//);
    const style = await fetch(new URL("frames.css", `${server.url}/docs/frames`));
    expect([style.status, style.headers.get("content-type")]).toEqual([200, "text/css; charset=utf-8"]);
  });

  test("is linked from the description of the HTTP routes", async () => {
    const server = await start();
    const { externalDocs } = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
      externalDocs: { url: string };
    };
    const linked = new URL(externalDocs.url, `${server.url}/docs`);
    expect((await fetch(linked)).status).toBe(200);
  });
});
