import { MARK, readLabels } from "../docker/labels.js";
import type { Sweeper } from "../leftover.js";
import { ask, type ClusterOptions, findCluster, hasConfiguration } from "./cluster.js";

/** Finds what carries our label in one namespace; nothing where no cluster is configured. */
export function createKubernetesSweeper(options: ClusterOptions = {}): Sweeper {
  return {
    async list() {
      if (!options.kubeconfig && !hasConfiguration()) return [];
      const cluster = await findCluster(options);
      const { namespace } = cluster;
      const { items } = await ask(cluster.core.listNamespacedService({ namespace, labelSelector: MARK }));
      return items.map(({ metadata = {} }) => {
        const { name = "", annotations = {} } = metadata;
        return { id: name, url: undefined, ...readLabels(annotations), remove: () => cluster.removeAll(name) };
      });
    },
  };
}
