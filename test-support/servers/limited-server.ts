import { createWebUi } from "../../packages/openenv/src/compat/web-ui-routes.js";
import type { EnvironmentDefinition } from "../../packages/openenv/src/environment/environment.js";
import type { Config } from "../../packages/openenv/src/server/config/config.js";
import type { ServerContext } from "../../packages/openenv/src/server/context.js";
import { createRouter } from "../../packages/openenv/src/server/http/router.js";
import { createRoutes } from "../../packages/openenv/src/server/routes/routes.js";
import { SocketServer } from "../../packages/openenv/src/server/websocket/socket-server.js";
import { createRuntime } from "../../packages/openenv/src/session/runtime.js";
import { Backlog } from "../../packages/sockets/src/limits/backlog.js";
import type { Upgrade } from "../../packages/sockets/src/runtimes/runtime.js";
import { loadRuntime } from "../../packages/sockets/src/runtimes/runtime.js";
import { createContext } from "../environments/context.js";

export interface LimitedServer {
  backlog: Backlog;
  context: ServerContext;
  url: string;
  close(): void;
}

/** Starts HTTP and WebSockets of a server with a small memory limit for all connections, which has no option. */
export async function startLimited(
  environment: unknown,
  limit: number,
  own: Partial<ServerContext> = {},
): Promise<LimitedServer> {
  const backlog = new Backlog(limit);
  const context = await createContext(createRuntime(environment as EnvironmentDefinition), { backlog, ...own });
  const webInterface = context.web !== undefined;
  const mounted = webInterface ? [createWebUi(context)] : [];
  const sockets = new SocketServer(
    context,
    mounted.flatMap((part) => part.sockets ?? []),
  );
  const routes = createRoutes({ mode: "simulation", webInterface }, mounted);
  const config = { host: "127.0.0.1", port: 0, ...context } as unknown as Config;
  const parts = {
    config,
    context,
    handle: createRouter(context, routes),
    upgrade: (upgrade: Upgrade) => sockets.upgrade(upgrade),
  };
  const { port, close } = await (await loadRuntime()).listen(parts);
  return {
    backlog,
    context,
    url: `http://127.0.0.1:${port}`,
    close() {
      sockets.close();
      void close();
    },
  };
}
