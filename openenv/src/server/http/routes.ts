import type { Mode } from "../types.js";
import { CONTROL_ROUTES } from "./control.js";
import { DOCS_ROUTES } from "./docs.js";
import { INFO_ROUTES } from "./info.js";
import { MCP_ROUTES } from "./mcp.js";
import type { Lookup, Route } from "./router.js";
import { LIST_ROUTES, TASK_ROUTES } from "./tasks.js";

/** All routes of a server; production has no `/reset`, `/step` and `/state`. */
export function createRoutes(mode: Mode): Lookup {
  const fixed = new Map<string, Route>(
    Object.entries({
      ...(mode === "simulation" ? CONTROL_ROUTES : {}),
      ...INFO_ROUTES,
      ...MCP_ROUTES,
      ...LIST_ROUTES,
      ...DOCS_ROUTES,
    }),
  );
  const tasks = new Map(Object.entries(TASK_ROUTES));
  return (path) => {
    const route = fixed.get(path);
    if (route !== undefined) return route;
    const [, name, task, ...rest] = path.split("/");
    return name && task && rest.length === 0 ? tasks.get(task) : undefined;
  };
}
