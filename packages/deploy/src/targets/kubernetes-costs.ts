import { labels } from "../kubernetes-objects.js";
import { READ_ONLY, SERVER_USER, unprivileged } from "../pod-security.js";
import { nodeCapacity, type Topology } from "../topology.js";
import { renderYaml } from "../yaml.js";

const IMAGE = "node:22-alpine";
const FILE = "deletion-costs.mjs";
const FOLDER = "/etc/openenv";
const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
/** A mounted Secret follows its changes, and a variable does not. */
const TOKENS = "/etc/openenv-tokens";

/** Sets the annotation by which Kubernetes chooses the Pod that a smaller number of replicas removes first. */
const SCRIPT = `// Keeps the deletion cost of each server's Pod at its sessions, in tenths of its capacity.
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const { KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT, ACCOUNT, TOKEN_FILE, SELECTOR, PORT, WORKERS, CAPACITY } = process.env;
const ANNOTATION = "controller.kubernetes.io/pod-deletion-cost";
const AT_A_TIME = 10;
const read = (file) => readFileSync(file, "utf8").trim();
const at = (address) => (address.includes(":") ? \`[\${address}]\` : address);
const api = \`https://\${at(KUBERNETES_SERVICE_HOST)}:\${KUBERNETES_SERVICE_PORT}\`;
const pods = \`\${api}/api/v1/namespaces/\${read(\`\${ACCOUNT}/namespace\`)}/pods\`;

async function ask(url, tokenFile, options = {}) {
  const headers = { authorization: \`Bearer \${read(tokenFile)}\`, ...options.headers };
  const answer = await fetch(url, { ...options, headers, signal: AbortSignal.timeout(5_000) });
  if (!answer.ok) throw new Error(\`\${url} answered \${answer.status}\`);
  return answer.text();
}

async function update({ metadata, status }) {
  const metrics = await ask(\`http://\${at(status.podIP)}:\${PORT}/metrics\`, TOKEN_FILE);
  const counts = [...metrics.matchAll(/^openenv_sessions(?:\\{[^}]*\\})? (\\d+)$/gm)].map(([, count]) => Number(count));
  // A busy worker may not have answered in time. Its sessions must not count as none.
  if (counts.length < Number(WORKERS)) return;
  const cost = String(Math.ceil((10 * counts.reduce((sum, count) => sum + count)) / Number(CAPACITY)));
  if (metadata.annotations?.[ANNOTATION] === cost) return;
  const body = JSON.stringify({ metadata: { annotations: { [ANNOTATION]: cost } } });
  const headers = { "content-type": "application/merge-patch+json" };
  await ask(\`\${pods}/\${metadata.name}\`, \`\${ACCOUNT}/token\`, { method: "PATCH", headers, body });
}

for (;;) {
  try {
    const list = await ask(\`\${pods}?labelSelector=\${encodeURIComponent(SELECTOR)}\`, \`\${ACCOUNT}/token\`);
    // The address of a Pod that has ended may be that of another one.
    const running = JSON.parse(list).items.filter(
      ({ metadata, status }) => status.phase === "Running" && status.podIP && !metadata.deletionTimestamp,
    );
    for (let from = 0; from < running.length; from += AT_A_TIME) {
      const results = await Promise.allSettled(running.slice(from, from + AT_A_TIME).map(update));
      for (const { reason } of results) if (reason) console.error(reason.message);
    }
  } catch (error) {
    console.error(error.message);
  }
  await sleep(10_000);
}
`;

/**
 * What makes an autoscaler remove the server with the fewest sessions first: a Pod that reads the sessions of each server,
 * with an account that may list and annotate Pods.
 */
export function renderDeletionCosts(topology: Topology): string {
  const name = `${topology.name}-deletion-costs`;
  const metadata = { name, labels: labels(topology, "deletion-costs") };
  const rbac = "rbac.authorization.k8s.io";
  return renderYaml(
    { apiVersion: "v1", kind: "ServiceAccount", metadata },
    {
      apiVersion: `${rbac}/v1`,
      kind: "Role",
      metadata,
      rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["list", "patch"] }],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: rbac, kind: "Role", name },
      subjects: [{ kind: "ServiceAccount", name }],
    },
    { apiVersion: "v1", kind: "ConfigMap", metadata, data: { [FILE]: SCRIPT } },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata,
      spec: {
        replicas: 1,
        selector: { matchLabels: metadata.labels },
        template: { metadata: { labels: metadata.labels }, spec: podOf(topology, name) },
      },
    },
  );
}

function podOf(topology: Topology, name: string): object {
  const selector = Object.entries(labels(topology, "server")).map(([key, value]) => `${key}=${value}`);
  const variables = {
    ACCOUNT,
    NODE_EXTRA_CA_CERTS: `${ACCOUNT}/ca.crt`,
    TOKEN_FILE: `${TOKENS}/OPENENV_OPERATOR_TOKEN`,
    SELECTOR: selector.join(","),
    PORT: String(topology.port),
    WORKERS: String(topology.workers),
    CAPACITY: String(nodeCapacity(topology)),
  };
  const amounts = { cpu: "100m", memory: "128Mi" };
  return {
    serviceAccountName: name,
    securityContext: unprivileged(SERVER_USER),
    containers: [
      {
        name: "deletion-costs",
        image: IMAGE,
        command: ["node", `${FOLDER}/${FILE}`],
        env: Object.entries(variables).map(([key, value]) => ({ name: key, value })),
        resources: { requests: amounts, limits: amounts },
        securityContext: READ_ONLY,
        volumeMounts: [
          { name: "script", mountPath: FOLDER, readOnly: true },
          { name: "tokens", mountPath: TOKENS, readOnly: true },
        ],
      },
    ],
    volumes: [
      { name: "script", configMap: { name } },
      { name: "tokens", secret: { secretName: `${topology.name}-tokens`, optional: true } },
    ],
  };
}
