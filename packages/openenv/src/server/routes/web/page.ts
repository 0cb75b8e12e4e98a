import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { renderResetOptions } from "../../../contract/json-schema/schema.js";
import { parseSessionQuery } from "../../../protocol/session-query.js";
import type { WebInfo } from "../../../protocol/web.js";
import { PACKAGE_VERSION } from "../../../util/package-version.js";
import type { WebSettings } from "../../context.js";
import { sendJson, sendText } from "../../http/respond.js";
import { type RequestContext, readQuery } from "../../http/router.js";
import { askAll, renderView } from "../../metrics/view.js";
import { renderMetadata } from "../metadata.js";
import { Assets } from "./assets.js";
import { secureHeaders } from "./headers.js";

const PACKAGE = "@openenv-ts/web";
const NOT_INSTALLED = `The page is not installed; run: npm install ${PACKAGE}\n`;

let assets: Assets | undefined;

/** A file of the page, or the page itself. */
export async function asset({ request, response, path, context }: RequestContext): Promise<void> {
  secureHeaders(response, settings(context).spaceId);
  assets ??= findAssets();
  if (assets === undefined) return sendText(response, 404, { type: "text/plain; charset=utf-8", text: NOT_INSTALLED });
  return assets.send(path.slice("/web/".length), request, response);
}

/** Those of the package next to this one, or of the program or folder that serves. */
function findAssets(): Assets | undefined {
  for (const from of [import.meta.url, process.argv[1], join(process.cwd(), "package.json")]) {
    try {
      if (from) return new Assets(join(dirname(createRequire(from).resolve(`${PACKAGE}/package.json`)), "dist"));
    } catch {
      // The next one may have it.
    }
  }
  return undefined;
}

export async function info({ request, response, context, principal }: RequestContext): Promise<void> {
  const { runtime, authorization, sessions } = context;
  const { contract, tasks, stepBeforeReset } = runtime.definition;
  const { readme, report, spaceId } = settings(context);
  const { contract: _fingerprint, readme_content: _shown, ...metadata } = await renderMetadata(runtime.definition);
  const body: WebInfo = {
    server_version: PACKAGE_VERSION,
    mode: runtime.mode,
    guarded: runtime.guarded,
    ...metadata,
    readme,
    report: report !== null,
    tools: runtime.tools !== undefined,
    tools_only: contract.toolsOnly,
    tasks: tasks !== undefined,
    reset_options: renderResetOptions(contract.reset),
    step_before_reset: stepBeforeReset === "allow",
    fork_problem: forkProblem(context),
    capacity: sessions.capacity(),
    max_message_bytes: context.maxMessageBytes,
    rollouts: context.plugins.mounted.some(({ plugin }) => plugin.name === "rollouts"),
    has_operator: authorization.hasOperator,
    is_operator: authorization.isOperator(request.headers, principal),
    space_id: spaceId,
  };
  response.setHeader("cache-control", "no-store");
  sendJson(response, 200, body);
}

/** An environment shows whether it can be copied once one was made. */
function forkProblem({ runtime, sessions }: RequestContext["context"]): string | null {
  if (sessions.keeper === undefined) return "the server lacks the part that keeps sessions";
  if (runtime.definition.seeded === true) return null;
  for (const { environment, events } of sessions.all) {
    const { tier } = events;
    if (environment !== undefined) return "reason" in tier ? tier.reason : null;
  }
  return null;
}

export async function report({ response, context }: RequestContext): Promise<void> {
  const { report: text } = settings(context);
  response.setHeader("cache-control", "no-store");
  if (text === null)
    return sendText(response, 404, { type: "text/plain; charset=utf-8", text: "There is no report.\n" });
  sendText(response, 200, { type: "application/json", text });
}

export async function server({ request, response, context }: RequestContext): Promise<void> {
  const query = parseSessionQuery(readQuery(request));
  response.setHeader("cache-control", "no-store");
  sendJson(response, 200, renderView(await askAll(context, query), context, query));
}

/** The routes exist only with these settings. */
function settings({ web }: RequestContext["context"]): WebSettings {
  return web ?? { readme: null, report: null, spaceId: null };
}
