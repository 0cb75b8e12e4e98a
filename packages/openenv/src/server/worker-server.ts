import type { Listener, ServerParts, Upgrade } from "#parts/sockets";
import type { EnvironmentDefinition } from "../environment/environment.js";
import { listInfo } from "../session/session-info.js";
import type { ClusterServer } from "./cluster.js";
import type { Config } from "./config/config.js";
import type { ServerContext } from "./context.js";
import { drainSessions } from "./lifecycle/drain.js";
import type { Lifecycle } from "./lifecycle/lifecycle.js";
import type { SocketServer } from "./websocket/socket-server.js";

interface WorkerParts {
  environment: EnvironmentDefinition;
  config: Config;
  context: ServerContext;
  sockets: SocketServer;
  listener: Listener;
  lifecycle: Lifecycle;
  handle: ServerParts["handle"];
  rereadTokens(): void;
}

/** What a server does for its supervisor and for the other workers. */
export function createWorkerServer(parts: WorkerParts): ClusterServer {
  const { environment, config, context, sockets, listener, lifecycle, handle, rereadTokens } = parts;
  const { addresses, directory, sessions } = context;
  const { contract } = environment;
  const { webInterface } = config;
  return {
    about: { name: contract.name, version: contract.version, schemas: contract.schemas(), webInterface },
    load() {
      const load = sessions.load();
      return { ...load, active: load.active + addresses.expected };
    },
    list: () => listInfo(sessions.all),
    report: async (query) => (await import("./metrics/report.js")).makeReport(context, query),
    upgrade: (...handed) => sockets.acceptForwarded(listener.takeOver?.(...handed) as Upgrade),
    handle: (request, response) => void handle(request, response, { forwarded: true }),
    hasSession: (id) => directory.has(id),
    hasAddress: (address) => addresses.has(address),
    loseAddress: (address) => sessions.keeper?.loseAddress(address),
    inUse: () => sessions.inUse,
    drain: () => void drainSessions(context, { limitMs: config.drainMs, isDone: () => false }),
    retire: lifecycle.retire,
    pause: (paused) => sessions.pause(paused),
    rereadTokens,
    close: lifecycle.close,
  };
}
