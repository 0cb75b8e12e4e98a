import { sampleValue } from "../env/sample-value.js";
import type { JsonObject } from "../protocol/messages.js";
import type { RunningServer } from "../server/types.js";

type Served = Pick<RunningServer, "url" | "environment" | "webInterface">;

/** The text that tells a newcomer where the server is and the lines that use it. */
export function renderBanner({ url, environment: { contract }, webInterface }: Served): string {
  const action = sampleValue(contract.schemas().action) as JsonObject;
  return `
${contract.name} ${contract.version} at ${url}

${webInterface ? `  ${url}/web/     play in a browser\n` : ""}  ${url}/docs     HTTP API
  ${url}/health   readiness
  ${url.replace(/^http/, "ws")}/ws         sessions

TypeScript
  import { connect } from "openenv-ts/client";
  await using env = await connect("${url}");
  await env.reset();
  console.log(await env.step(${renderTypeScript(action)}));

Python (pip install openenv)
  from openenv import GenericEnvClient
  with GenericEnvClient(base_url="${url}").sync() as env:
      env.reset()
      print(env.step(${renderPython(action)}))
`;
}

function renderTypeScript(value: JsonObject): string {
  const text = JSON.stringify(value, null, 1).replaceAll(/\n\s*/g, " ");
  return text.replaceAll(/"([A-Za-z_]\w*)":/g, "$1:");
}

function renderPython(value: unknown): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(renderPython).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, item]) => `${JSON.stringify(key)}: ${renderPython(item)}`)
    .join(", ")}}`;
}
