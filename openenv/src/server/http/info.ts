import type { HealthBody, SessionsBody } from "../../protocol/http.js";
import { renderMetadata } from "../metadata.js";
import { renderMetrics } from "../statistics/metrics.js";
import { askAll } from "../statistics/view.js";
import { forOperators } from "./operator.js";
import { sendJson, sendText } from "./respond.js";
import type { Exchange, Route } from "./router.js";

/** What a server tells about itself. */
export const INFO_ROUTES: Record<string, Route> = {
  "/health": { GET: health },
  "/metadata": { GET: metadata },
  "/schema": { GET: schema },
  "/metrics": { GET: forOperators(metrics) },
  "/sessions": { GET: forOperators(sessions) },
};

function health({ response, context }: Exchange): void {
  const body: HealthBody = { status: context.draining ? "unhealthy" : "healthy" };
  sendJson(response, context.draining ? 503 : 200, body);
}

async function metadata({ response, context }: Exchange): Promise<void> {
  sendJson(response, 200, await renderMetadata(context.runtime.definition));
}

function schema({ response, context }: Exchange): void {
  sendJson(response, 200, context.runtime.definition.contract.schemas());
}

async function sessions({ response, context }: Exchange): Promise<void> {
  const list = context.fleet?.sessions() ?? context.sessions.list();
  const body: SessionsBody = { capacity: context.sessions.capacity(), sessions: await list };
  sendJson(response, 200, body);
}

async function metrics({ response, context }: Exchange): Promise<void> {
  const text = renderMetrics(await askAll(context, 0), context);
  sendText(response, 200, { type: "text/plain; version=0.0.4; charset=utf-8", text });
}
