import { compileActionCheck, offers, renderPython, sampleValue } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";
import type { RunningServer } from "openenv-ts/server";
import { printsToTerminal } from "../terminal/output.js";
import type { ServedEnvironment } from "./supervise-module.js";

/** The text for a listening server: help on a terminal; otherwise one line for programs that ends with the address. */
export async function renderStart(url: string, about: ServedEnvironment, operatorToken?: string): Promise<string> {
  return printsToTerminal() ? renderBanner(url, about, operatorToken) : renderAddress(url, about);
}

/** The text of {@link renderStart} for a server in this process. */
export function describeStart(
  { url, environment, webInterface }: RunningServer,
  operatorToken: string | undefined,
): Promise<string> {
  const { name, version, schemas } = environment.contract;
  return renderStart(url, { name, version, schemas: schemas(), webInterface }, operatorToken);
}

/** The addresses of the server and code that uses it. `operatorToken` is one that was generated for this terminal. */
export async function renderBanner(
  url: string,
  { name, version, schemas, webInterface }: ServedEnvironment,
  operatorToken?: string,
): Promise<string> {
  const offered = offers.offeredActions(schemas);
  const action = sampleValue(offered) as JsonObject;
  const fits = (await compileActionCheck(offered))(action).length === 0;
  return `
${renderAddress(url, { name, version })}

${renderPage(url, webInterface, operatorToken)}  ${url}/docs     HTTP API
  ${url}/health   readiness
  ${url.replace(/^http/, "ws")}/ws         sessions

TypeScript (npx openenv run play.ts)
  import { connect } from "openenv-ts/client";
  await using env = await connect("${url}");
  await env.reset();${fits ? "" : `\n  // ${OTHER_VALUES}`}
  console.log(await env.step(${renderTypeScript(action)}));

Python (pip install openenv)
  from openenv import GenericEnvClient
  with GenericEnvClient(base_url="${url}").sync() as env:
      env.reset()${fits ? "" : `\n      # ${OTHER_VALUES}`}
      print(env.step(${renderPython(action)}))
`;
}

/** Shown when no value that fits the schema was found. */
const OTHER_VALUES = "Replace the example values; see /docs for what this environment accepts";

function renderAddress(url: string, { name, version }: Pick<ServedEnvironment, "name" | "version">): string {
  return `${name} ${version} at ${url}`;
}

function renderPage(url: string, webInterface: boolean, token: string | undefined): string {
  if (token === undefined) return webInterface ? `  ${url}/web/     play in a browser\n` : "";
  if (!webInterface) return `  operator token: ${token}     bearer token for /metrics and /sessions\n`;
  return `  ${url}/web/#token=${token}     play in a browser, as the operator\n`;
}

function renderTypeScript(value: JsonObject): string {
  const text = JSON.stringify(value, null, 1).replaceAll(/\n\s*/g, " ");
  return text.replaceAll(/"([A-Za-z_]\w*)":/g, "$1:");
}
