import { labels } from "../kubernetes-objects.js";
import { readJournal, type Topology } from "../topology.js";
import { renderYaml } from "../yaml.js";
import { JOURNAL_PORT, journalHost } from "./kubernetes-journal.js";

/** Addresses that are not on the public internet: those of private networks, of carriers, and of cloud metadata. */
const PRIVATE = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16"];
const PRIVATE_V6 = ["fc00::/7", "fe80::/10"];

/**
 * Who may connect to the Pods, and where these may connect to. Policies add up: another one that selects the same Pods
 * allows more. The cluster's network plugin enforces them, if it does.
 */
export function renderNetworkPolicies(topology: Topology): string {
  const { name, port, balancer, journal } = topology;
  const servers = { podSelector: { matchLabels: labels(topology, "server") } };
  const redis = { podSelector: { matchLabels: labels(topology, "journal") } };
  const { metricsPort } = balancer;
  const entries = tcp(balancer.port, ...(metricsPort === undefined ? [] : [metricsPort]));
  return renderYaml(
    policy(name, labels(topology, "server"), {
      "# From anywhere, such as Prometheus in its namespace; the tokens of the server protect it.": null,
      ingress: [{ ports: tcp(port) }],
      egress: [
        DNS,
        ...(journal === "redis" ? [{ to: [redis], ports: tcp(JOURNAL_PORT) }] : []),
        ...journalElsewhere(topology),
        ...outbound(topology),
      ],
    }),
    policy(`${name}-balancer`, labels(topology, "balancer"), {
      ingress: [{ ports: entries }],
      egress: [DNS, { to: [servers], ports: tcp(port) }],
    }),
    ...(journal === "redis"
      ? [
          policy(journalHost(topology), labels(topology, "journal"), {
            "# It has no password.": null,
            ingress: [{ from: [servers], ports: tcp(JOURNAL_PORT) }],
            egress: [],
          }),
        ]
      : []),
  );
}

/** What environments may reach. A cluster's own addresses are private, so that its Services are not in `public`. */
function outbound({ egress }: Topology): object[] {
  if (egress === "none") return [];
  if (egress === "all") return [{}];
  return [
    {
      to: [{ ipBlock: { cidr: "0.0.0.0/0", except: PRIVATE } }, { ipBlock: { cidr: "::/0", except: PRIVATE_V6 } }],
    },
  ];
}

/** The address of a journal that the files do not bring may be private. One in a Secret has the usual port of Redis. */
function journalElsewhere(topology: Topology): object[] {
  const { redis } = readJournal(topology);
  if (topology.journal !== "secret" && redis === undefined) return [];
  return [{ ports: tcp(Number(/:(\d+)(?:\/|$)/.exec(redis ?? "")?.[1] ?? JOURNAL_PORT)) }];
}

const DNS = { ports: [{ protocol: "UDP", port: 53 }, ...tcp(53)] };

function tcp(...ports: number[]): object[] {
  return ports.map((port) => ({ protocol: "TCP", port }));
}

function policy(name: string, matchLabels: Record<string, string>, rules: object): object {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name, labels: matchLabels },
    spec: { podSelector: { matchLabels }, policyTypes: ["Ingress", "Egress"], ...rules },
  };
}
