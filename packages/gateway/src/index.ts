import type { Gateway, GatewayParts, HostContext } from "./host.js";
import { ORS_ROUTES } from "./ors/describe.js";
import { createOrs } from "./ors/ors.js";

/** Called by the server with itself, so that this package imports nothing of it. */
export function createGateway(context: HostContext, parts: GatewayParts): Gateway {
  return { ors: createOrs({ context, parts }), orsRoutes: ORS_ROUTES };
}
