import type { HttpRequest } from "#parts/sockets";
import type { HealthBody, MetadataBody } from "../../protocol/http.js";
import { DEFAULT_SESSION_QUERY } from "../../protocol/session-query.js";
import { PACKAGE_VERSION } from "../../util/package-version.js";
import type { ServerContext } from "../context.js";
import { forOperators } from "../http/operator.js";
import { sendJson, sendText } from "../http/respond.js";
import type { RequestContext, Route } from "../http/router.js";
import { renderMetadata } from "./metadata.js";

/** Routes that describe the server. */
export const INFO_ROUTES: Record<string, Route> = {
  "/health": { GET: health },
  "/metadata": { GET: metadata },
  "/schema": { GET: schema },
  "/metrics": { GET: forOperators(metrics, "reads the metrics", "polls") },
};

function health({ request, response, context }: RequestContext): void {
  const isAway = context.draining || context.sessions.departure.paused;
  const status = isMisdirected(request, context) ? 421 : isAway ? 503 : 200;
  const body: HealthBody = { status: status === 200 ? "healthy" : "unhealthy" };
  sendJson(response, status, body);
}

/** A balancer that names its deployment must not accept a server of another deployment. */
function isMisdirected({ headers }: HttpRequest, { deployment }: ServerContext): boolean {
  const named = headers["openenv-deployment"];
  return named !== undefined && named !== deployment;
}

async function metadata({ response, context }: RequestContext): Promise<void> {
  const body: MetadataBody = {
    ...(await renderMetadata(context.runtime.definition)),
    server_version: PACKAGE_VERSION,
  };
  sendJson(response, 200, body);
}

function schema({ response, context }: RequestContext): void {
  sendJson(response, 200, context.runtime.definition.contract.schemas());
}

const NO_SESSIONS = { ...DEFAULT_SESSION_QUERY, limit: 0 };

async function metrics({ request, response, context }: RequestContext): Promise<void> {
  const [{ askAll }, { hasExemplar, renderMetrics }] = await Promise.all([
    import("../metrics/view.js"),
    import("../metrics/metrics.js"),
  ]);
  const report = await askAll(context, NO_SESSIONS);
  const isOpen = request.headers.accept?.includes("application/openmetrics-text") === true && hasExemplar(report);
  const type = isOpen ? "application/openmetrics-text; version=1.0.0" : "text/plain; version=0.0.4";
  sendText(response, 200, { type: `${type}; charset=utf-8`, text: renderMetrics(report, context, isOpen) });
}
