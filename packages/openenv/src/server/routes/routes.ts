import type { Config } from "../config/config.js";
import { Ors } from "../gateway/ors.js";
import type { Lookup, Route } from "../http/router.js";
import { CONTROL_ROUTES } from "./control.js";
import { createDocsRoutes } from "./docs.js";
import { INFO_ROUTES } from "./info.js";
import { MCP_ROUTES } from "./mcp.js";
import type { Mount } from "./mount.js";
import { PROBE_ROUTES } from "./probes.js";
import { SESSION_ROUTE, SESSION_ROUTES } from "./session-admin.js";
import { LIST_ROUTES, TASK_ROUTES } from "./tasks.js";
import { VIEW_ROUTES, WEB_ASSET, WEB_FILE, WEB_ROUTES } from "./web/routes.js";

type Modes = Pick<Config, "mode" | "webInterface">;

/** The table of all routes of a server: its own, then those that are `mounted`. */
export function createRoutes(modes: Modes, mounted: readonly Mount[] = []): Lookup {
  const mounts = [...ownMounts(modes), ...mounted];
  const fixed = new Map<string, Route>(mounts.flatMap(({ routes = {} }) => Object.entries(routes)));
  const below = new Map<string, Route>(mounts.flatMap((mount) => Object.entries(mount.below ?? {})));
  const ofSession = new Map<string, Route>(mounts.flatMap((mount) => Object.entries(mount.ofSession ?? {})));
  const finders = mounts.flatMap((mount) => (mount.find === undefined ? [] : [mount.find.bind(mount)]));
  return (path) => {
    const route = fixed.get(path) ?? findBelow(path, { below, ofSession });
    if (route !== undefined || finders.length === 0) return route;
    for (const find of finders) {
      const found = find(path);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

/** Production has no routes that reset, step or return the state, and so no ORS. */
function ownMounts({ mode, webInterface }: Modes): Mount[] {
  const ors = mode === "simulation" ? new Ors() : undefined;
  const tasks =
    ors === undefined
      ? { routes: LIST_ROUTES, below: TASK_ROUTES }
      : { routes: ors.share(LIST_ROUTES), below: ors.share(TASK_ROUTES) };
  return [
    ...(ors === undefined ? [] : [{ routes: CONTROL_ROUTES }, ors]),
    { routes: INFO_ROUTES },
    { routes: PROBE_ROUTES },
    { routes: SESSION_ROUTES },
    { routes: VIEW_ROUTES },
    { routes: MCP_ROUTES },
    tasks,
    { routes: createDocsRoutes(async (context) => (await ors?.describe(context)) ?? []) },
    ...(webInterface
      ? [{ routes: WEB_ROUTES, find: (path: string) => (WEB_FILE.test(path) ? WEB_ASSET : undefined) }]
      : []),
  ];
}

type Routes = ReadonlyMap<string, Route>;

function findBelow(path: string, { below, ofSession }: { below: Routes; ofSession: Routes }): Route | undefined {
  const [, name, task, ...rest] = path.split("/");
  if (name === "sessions" && task && rest.length === 1) return ofSession.get(rest[0] as string);
  if (!name || !task || rest.length > 0) return undefined;
  return below.get(task) ?? (name === "sessions" ? SESSION_ROUTE : undefined);
}
