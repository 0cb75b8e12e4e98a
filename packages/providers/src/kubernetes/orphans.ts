import { MARK, readLabels } from "../docker/labels.js";
import type { OrphanFinder } from "../orphans/orphan.js";
import { ask, type ClusterOptions, canAsk, findKubernetesCluster } from "./cluster.js";

/** Who only looks what is left does not wait for a cluster that is gone. */
const ANSWER_MS = 10_000;

/** Finds what carries our label in one namespace; nothing where no cluster is configured. */
export function createKubernetesOrphanFinder(options: ClusterOptions = {}): OrphanFinder {
  return {
    async list() {
      if (!options.kubeconfig && !(await canAsk())) return [];
      const cluster = await findKubernetesCluster(options);
      const { namespace } = cluster;
      const asking = cluster.core.listNamespacedService({ namespace, labelSelector: MARK });
      const found = await ask(asking, ANSWER_MS);
      return found.items.map(({ metadata = {} }) => {
        const { name = "", annotations = {} } = metadata;
        return { id: name, url: undefined, ...readLabels(annotations), remove: () => cluster.removeAll(name) };
      });
    },
  };
}
