import { text } from "#core/server/config/setting.js";
import type { CreateRollouts, StoreSettings } from "#core/server/parts/rollouts.js";
import { definePlugin, type ServerHandle } from "#core/server/plugins/plugin.js";
import type { Principal } from "#core/session/attachable-session.js";
import type { Log } from "#core/util/log.js";
import { FORKS } from "./forks/forks.js";
import type { EpisodeStart } from "./record/episode.js";
import { EpisodeRecorder, type RecorderOptions } from "./record/recorder.js";
import { createRoutes } from "./routes.js";
import type { StoreChange } from "./store/roles.js";
import { StoreThread } from "./store/thread.js";

const QUERY_MS = 2_000;

/** Records each episode of a server, and answers questions about them. */
export const createRollouts: CreateRollouts = (settings) => {
  const recorders = new WeakMap<ServerHandle, EpisodeRecorder>();
  const reader = new StoreThread("reader", settings.folder, QUERY_MS);
  return definePlugin({
    name: "rollouts",
    settings: { policyUrl: { kind: text }, policyModel: { kind: text }, policyKey: { kind: text, mayBeFile: true } },
    metrics: {
      rollouts_episodes_total: { type: "counter", help: "Episodes that were recorded." },
      rollouts_dropped_total: { type: "counter", help: "Episodes of which the recording lost a part." },
      rollouts_up: { type: "gauge", help: "1 while episodes can be written." },
    },
    central: (log) => openCentral(settings, log),
    async start(server) {
      const writer = new StoreThread("writer", settings.folder);
      await writer.open();
      const counts = server.metrics as unknown as RecorderOptions["counts"];
      const recorder = new EpisodeRecorder({ write: (batch) => writer.call("write", batch), counts, log: server.log });
      recorders.set(server as ServerHandle, recorder);
      return {
        async [Symbol.asyncDispose]() {
          await recorder.close();
          await Promise.all([writer.close(), reader.close()]);
        },
      };
    },
    session(session, { client, principal }, server) {
      const recorder = recorders.get(server as ServerHandle);
      if (recorder === undefined) return undefined;
      const { environment: env, contract, worker } = server;
      const { version } = contract;
      const parent = parentOf(client, principal);
      const start = { worker, env, version, client, contents: settings.contents, parent };
      const recorded = recorder.open(session, start);
      return {
        brief: true,
        views: settings.contents,
        record: (event, notes) => recorded.record(event, notes),
        ended: () => recorded.ended(),
      };
    },
    routes: createRoutes(reader),
  });
};

function parentOf(client: string, principal: Principal | undefined): EpisodeStart["parent"] {
  const isFork = client === "plugin" && principal?.name === FORKS;
  return isFork ? (principal?.claims as unknown as EpisodeStart["parent"]) : undefined;
}

/** The process that has the file: it marks, indexes and changes for all workers. */
async function openCentral({ folder, limits }: StoreSettings, log: Log) {
  const keeper = new StoreThread("keeper", folder);
  await keeper.call("begin", limits);
  return {
    answer: (change: unknown) => keeper.call("change", change as StoreChange),
    workerEnded: (worker: number) =>
      void keeper
        .call("abandon", worker)
        .catch((err: unknown) => log.error({ err, worker }, "episodes could not be marked")),
    [Symbol.asyncDispose]: () => keeper.close(),
  };
}
