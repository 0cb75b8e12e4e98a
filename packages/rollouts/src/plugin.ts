import { createHmac } from "node:crypto";
import type { CreateRollouts, StoreSettings } from "#core/server/parts/rollouts.js";
import { definePlugin, type ServerHandle } from "#core/server/plugins/plugin.js";
import type { Log } from "#core/util/log.js";
import { Recorder, type RecorderOptions } from "./record/recorder.js";
import { createRoutes } from "./routes.js";
import { StoreThread } from "./store/thread.js";

const QUERY_MS = 2_000;
/** Characters of the public name of a session. */
const HANDLE = 12;

/** Records each episode of a server, and answers questions about them. */
export const createRollouts: CreateRollouts = (settings) => {
  const recorders = new WeakMap<ServerHandle, { recorder: Recorder; handleOf(id: string): string }>();
  const reader = new StoreThread("reader", settings.folder, QUERY_MS);
  return definePlugin({
    name: "rollouts",
    metrics: {
      rollouts_episodes_total: { type: "counter", help: "Episodes that were recorded." },
      rollouts_dropped_total: { type: "counter", help: "Episodes of which the recording lost a part." },
      rollouts_up: { type: "gauge", help: "1 while episodes can be written." },
    },
    central: (log) => openCentral(settings, log),
    async start(server) {
      const key = (await server.ask({ what: "key" })) as string;
      const writer = new StoreThread("writer", settings.folder);
      await writer.open();
      const counts = server.metrics as unknown as RecorderOptions["counts"];
      const recorder = new Recorder({ write: (batch) => writer.call("write", batch), counts, log: server.log });
      const handleOf = (id: string): string =>
        createHmac("sha256", key).update(id).digest("base64url").slice(0, HANDLE);
      recorders.set(server as ServerHandle, { recorder, handleOf });
      return {
        async [Symbol.asyncDispose]() {
          await recorder.close();
          await Promise.all([writer.close(), reader.close()]);
        },
      };
    },
    session(session, { client }, server) {
      const found = recorders.get(server as ServerHandle);
      if (found === undefined) return undefined;
      const { environment: env, version, worker } = server;
      const handle = found.handleOf(session.id);
      const start = { handle, worker, env, version, client, contents: settings.contents };
      const recorded = found.recorder.open(session, start);
      return {
        views: settings.contents,
        record: (event, notes) => recorded.record(event, notes),
        ended: () => recorded.ended(),
      };
    },
    routes: createRoutes(reader, (server) => recorders.get(server)?.handleOf),
  });
};

/** The process that has the file: it marks, indexes and deletes for all workers. */
async function openCentral({ folder, limits }: StoreSettings, log: Log) {
  const keeper = new StoreThread("keeper", folder);
  const key = await keeper.call("begin", limits);
  return {
    answer: (message: unknown) => {
      const { what, ids = [] } = message as { what: string; ids?: string[] };
      return what === "key" ? key : keeper.call("remove", ids);
    },
    workerEnded: (worker: number) =>
      void keeper
        .call("abandon", worker)
        .catch((err: unknown) => log.error({ err, worker }, "episodes could not be marked")),
    [Symbol.asyncDispose]: () => keeper.close(),
  };
}
