import type { Config } from "../config/config.js";
import type { Lookup, Route } from "../http/router.js";
import { CONTROL_ROUTES } from "./control.js";
import { DOCS_ROUTES } from "./docs.js";
import { FORK_ROUTE } from "./fork.js";
import { INFO_ROUTES } from "./info.js";
import { MCP_ROUTES } from "./mcp.js";
import { ORS_ENVIRONMENT_ROUTES, ORS_ROUTES, sharedWithOrs } from "./ors.js";
import { PROBE_ROUTES } from "./probes.js";
import { SESSION_ROUTE, SESSION_ROUTES } from "./session-admin.js";
import { EVENTS_ROUTE } from "./session-events.js";
import { LIST_ROUTES, TASK_ROUTES } from "./tasks.js";
import { WEB_ASSET, WEB_FILE, WEB_ROUTES } from "./web/routes.js";

/**
 * All routes of a server, with those that are `mounted`; production has none that reset, step or return the state, and so
 * no ORS.
 */
export function createRoutes(
  { mode, webInterface }: Pick<Config, "mode" | "webInterface">,
  mounted: Readonly<Record<string, Route>> = {},
): Lookup {
  const isSimulation = mode === "simulation";
  const share = isSimulation ? sharedWithOrs : <T>(routes: T): T => routes;
  const fixed = new Map<string, Route>(
    Object.entries({
      ...(isSimulation ? { ...CONTROL_ROUTES, ...ORS_ROUTES } : {}),
      ...INFO_ROUTES,
      ...PROBE_ROUTES,
      ...SESSION_ROUTES,
      ...MCP_ROUTES,
      ...share(LIST_ROUTES),
      ...DOCS_ROUTES,
      ...(webInterface ? WEB_ROUTES : {}),
      ...mounted,
    }),
  );
  const below = { ...(isSimulation ? ORS_ENVIRONMENT_ROUTES : {}), ...share(TASK_ROUTES) };
  const tasks = new Map(Object.entries(below));
  return (path) => {
    const route = fixed.get(path);
    if (route !== undefined) return route;
    if (webInterface && WEB_FILE.test(path)) return WEB_ASSET;
    const [, name, task, ...rest] = path.split("/");
    if (name === "sessions" && task && rest.length === 1) {
      return rest[0] === "fork" ? FORK_ROUTE : rest[0] === "events" ? EVENTS_ROUTE : undefined;
    }
    if (!name || !task || rest.length > 0) return undefined;
    return tasks.get(task) ?? (name === "sessions" ? SESSION_ROUTE : undefined);
  };
}
