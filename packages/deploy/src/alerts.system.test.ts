import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { CASES, type Case, IMAGE, render } from "../../../test-support/deploy/render-cases.js";
import { requirePromtool } from "../../../test-support/requirement.js";
import { COUNTED, startCounts } from "../../openenv/src/session/statistics/metrics.js";
import { CONNECTIONS, RECORDED } from "./monitoring/metric.js";
import type { TopologyInput } from "./topology.js";

const promtool = await requirePromtool();
const run = promisify(execFile);

/** The scrape interval of the rendered job. */
const INTERVAL = "15s";

interface Scenario {
  /** Series and their values in promtool's notation. */
  series: Record<string, string>;
  /** Expected values of expressions at a time. */
  expressions?: { expr: string; at: string; value: number }[];
  /** Whether the named alerts fire at a time. */
  alerts?: { name: string; at: string; fires: boolean }[];
  /** The text of the only instance of an alert that fires at a time. */
  texts?: { name: string; at: string; summary: string }[];
  /** Keys in addition to those of the fixture. */
  topology?: TopologyInput;
}

async function judge({ series, expressions = [], alerts = [], texts = [], topology }: Scenario): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "openenv-alerts-"));
  try {
    const given = CASES["monitoring"] as Case;
    const { "alerts.yaml": rules = "" } = render({ ...given, topology: { ...given.topology, ...topology } });
    const fired = texts.map(({ name, at, summary }) => ({
      alertname: name,
      eval_time: at,
      exp_alerts: [
        { exp_labels: { severity: "critical", job: "echo", instance: "a:8000" }, exp_annotations: { summary } },
      ],
    }));
    // Compares only whether an alert fires, not its labels and texts.
    const firing = alerts.map(({ name, at, fires }) => ({
      expr: `count(ALERTS{alertname="${name}",alertstate="firing"}) or vector(0)`,
      eval_time: at,
      exp_samples: [{ labels: "{}", value: Number(fires) }],
    }));
    const values = expressions.map(({ expr, at, value }) => ({
      expr: `round(sum(${expr}), 0.001)`,
      eval_time: at,
      exp_samples: [{ labels: "{}", value }],
    }));
    const input = Object.entries(series).map(([name, points]) => ({ series: name, values: points }));
    const tests = [
      { interval: INTERVAL, input_series: input, promql_expr_test: [...values, ...firing], alert_rule_test: fired },
    ];
    await writeFile(join(folder, "alerts.yaml"), rules);
    const file = join(folder, "test.yaml");
    await writeFile(file, stringify({ rule_files: ["alerts.yaml"], evaluation_interval: INTERVAL, tests }));
    await run(promtool.path, ["test", "rules", file]).catch(({ stdout, stderr }) => {
      throw new Error(`${stdout}\n${stderr}`);
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const of = (name: string, labels: Record<string, string> = {}): string => {
  const all = { job: "echo", instance: "a:8000", worker: "0", ...labels };
  return `${name}{${Object.entries(all).map(([key, value]) => `${key}="${value}"`)}}`;
};

/** A server with a capacity of 500: its open sessions, those not used yet, and its rejections. */
function server(values: { open: string; unclaimed?: string; waiting?: string; refused?: string }, labels = {}) {
  const { open, unclaimed = "0x40", waiting = "0x40", refused = "0x40" } = values;
  const none = Object.keys(startCounts(COUNTED).openenv_rejections_total).filter((reason) => reason !== "full");
  return {
    [of("openenv_sessions", labels)]: open,
    [of("openenv_sessions_unclaimed", labels)]: unclaimed,
    [of("openenv_sessions_max", labels)]: "500x40",
    [of("openenv_sessions_waiting", labels)]: waiting,
    [of("openenv_rejections_total", { ...labels, reason: "full" })]: refused,
    ...Object.fromEntries(none.map((reason) => [of("openenv_rejections_total", { ...labels, reason }), "0x40"])),
  };
}

test.skipIf(!promtool.available)("rejections of a new server are counted, and the load rises above 1", async () => {
  await judge({
    series: server({ open: "0 0 500x40", refused: "0 0 700x40" }),
    expressions: [
      { expr: RECORDED.load, at: "0s", value: 0 },
      { expr: `${RECORDED.load} > bool 2`, at: "45s", value: 1 },
      { expr: RECORDED.load, at: "5m", value: 1 },
    ],
    alerts: [
      { name: "OpenEnvRefusals", at: "1m", fires: true },
      { name: "OpenEnvNearlyFull", at: "1m", fires: false },
      { name: "OpenEnvNearlyFull", at: "6m", fires: true },
    ],
  });
});

test.skipIf(!promtool.available)(
  "HTTP resets that a full server keeps no session for count as load, like rejections",
  async () => {
    const resets = of("openenv_rejections_total", { reason: "http_reset" });
    await judge({
      series: { ...server({ open: "500x40" }), [resets]: "0+125x40" },
      // 500 in the minute, and 500 sessions in use.
      expressions: [{ expr: RECORDED.load, at: "5m", value: 2 }],
      alerts: [{ name: "OpenEnvRefusals", at: "5m", fires: true }],
    });
  },
);

test.skipIf(!promtool.available).each(["haproxy", "envoy"] as const)(
  "a balancer (%s) with nine tenths of its connections open raises an alert",
  async (kind) => {
    const [name, label] = CONNECTIONS[kind];
    // A limit for 3 servers of 500 sessions plus 64 each.
    for (const [count, fires] of [
      [1_522, false],
      [1_523, true],
    ] as const) {
      await judge({
        series: { [`${name}{job="echo-balancer",instance="b:9902",${label}}`]: `${count}x40` },
        alerts: [{ name: "OpenEnvBalancerNearlyFull", at: "8m", fires }],
      });
    }
  },
);

test.skipIf(!promtool.available)("sessions that no client has used do not count as load", async () => {
  await judge({
    series: server({ open: "500x40", unclaimed: "500x40" }),
    expressions: [{ expr: RECORDED.load, at: "5m", value: 0 }],
    alerts: [{ name: "OpenEnvNearlyFull", at: "8m", fires: false }],
  });
});

test.skipIf(!promtool.available)("a journal that is away for a minute raises an alert", async () => {
  for (const [up, fires] of [
    ["1x40", false],
    ["0x40", true],
  ] as const) {
    await judge({
      series: { [of("openenv_journal_up")]: up },
      alerts: [{ name: "OpenEnvJournalAway", at: "3m", fires }],
    });
  }
});

test.skipIf(!promtool.available)(
  "a journal whose commits are slow raises an alert, one slow commit in twenty does not",
  async () => {
    // Of 20 commits in each interval, so many take at most half a second, the others at most a second.
    for (const [quick, fires] of [
      [19, false],
      [16, true],
    ] as const) {
      const bucket = (le: string, each: number) => ({
        [of("openenv_journal_commit_seconds_bucket", { le })]: `0+${each}x60`,
      });
      await judge({
        series: { ...bucket("0.5", quick), ...bucket("1", 20), ...bucket("+Inf", 20) },
        alerts: [
          { name: "OpenEnvJournalSlow", at: "4m", fires: false },
          { name: "OpenEnvJournalSlow", at: "11m", fires },
        ],
      });
    }
  },
);

test.skipIf(!promtool.available).each<[TopologyInput, string]>([
  [{}, "Its sessions are lost, except those that a journal has."],
  [{ variables: { JOURNAL: "/journal/sessions.db" } }, "Its sessions are lost, except those that a journal has."],
  [{ journal: "redis" }, "Other servers continue those of its sessions that are in the journal; the others are lost."],
  [
    { variables: { JOURNAL: "redis://cache:6379" } },
    "Other servers continue those of its sessions that are in the journal; the others are lost.",
  ],
])("the alert of a server that is down says what happens to its sessions: %j", async (topology, what) => {
  await judge({
    topology,
    series: { [`up{job="echo",instance="a:8000"}`]: "0x40" },
    texts: [{ name: "OpenEnvServerDown", at: "5m", summary: `a:8000 does not answer. ${what}` }],
  });
});

test.skipIf(!promtool.available)(
  "errors of clients are recorded, and only failures of the server raise an alert",
  async () => {
    const steps = { [of("openenv_steps_total")]: "0+15x40", [of("openenv_reset_duration_seconds_count")]: "0x40" };
    const errors = (code: string, fault: string) => of("openenv_errors_total", { code, fault });
    await judge({
      series: {
        ...steps,
        [errors("VALIDATION_ERROR", "client")]: "0+30x40",
        [errors("TIMEOUT", "environment")]: "0x40",
      },
      expressions: [{ expr: RECORDED.clientErrors, at: "8m", value: 2 }],
      alerts: [{ name: "OpenEnvErrors", at: "8m", fires: false }],
    });
    await judge({
      series: {
        ...steps,
        [errors("VALIDATION_ERROR", "client")]: "0x40",
        [errors("TIMEOUT", "environment")]: "0+15x40",
      },
      alerts: [{ name: "OpenEnvErrors", at: "8m", fires: true }],
    });
  },
);

test.skipIf(!promtool.available)("a heap that is nearly full raises an alert, and one at half does not", async () => {
  const heap = (used: string) => ({
    [of("openenv_heap_used_bytes")]: used,
    [of("openenv_heap_limit_bytes")]: "4000x60",
  });
  await judge({ series: heap("2000x60"), alerts: [{ name: "OpenEnvHeap", at: "8m", fires: false }] });
  await judge({ series: heap("3500x60"), alerts: [{ name: "OpenEnvHeap", at: "8m", fires: true }] });
});

test.skipIf(!promtool.available)(
  "sessions that take more memory than the server has for each raise an alert, unless they are few",
  async () => {
    // Two workers with 180 of 1,024 MB, and 500 sessions.
    const fires = (open: number, residentMb: number, expected: boolean) =>
      judge({
        series: {
          ...server({ open: `${open}x60` }),
          [of("process_resident_memory_bytes")]: `${residentMb / 2}000000x60`,
          [of("process_resident_memory_bytes", { worker: "1" })]: `${residentMb / 2}000000x60`,
        },
        alerts: [{ name: "OpenEnvSessionMemory", at: "13m", fires: expected }],
      });
    await fires(200, 500, false);
    await fires(200, 600, true);
    await fires(50, 600, false);
  },
);

test.skipIf(!promtool.available)(
  "the autoscaler goes from 5 full servers to 20 in two cycles, and to the needed 25 in three",
  async () => {
    const { "servers.yaml": servers = "", "monitoring/prometheus-adapter.values.yaml": adapter = "" } = render({
      target: "kubernetes",
      topology: { ...IMAGE, maxNodes: 100 },
    });
    const documents = [...parseAllDocuments(servers), ...parseAllDocuments(adapter)].map((one) => one.toJS());
    const { metrics, behavior } = documents.find(({ kind }) => kind === "HorizontalPodAutoscaler").spec;
    const [{ pods }] = metrics;
    const [{ metricsQuery, name }] = documents.at(-1).rules.custom;
    expect(pods.metric.name).toBe(name.as);
    const target = Number(pods.target.averageValue.replace("m", "")) / 1000;
    const perPod = metricsQuery.replaceAll("<<.LabelMatchers>>", 'job="echo"').replaceAll("<<.GroupBy>>", "pod");
    const all = Array.from({ length: 5 }, (_, pod) =>
      // 1,500 more in the minute, as many as 100 a second over one scrape interval of 15 s.
      server({ open: "500x40", refused: "0+375x40" }, { pod: `echo-${pod}`, instance: `${pod}:8000` }),
    );
    const wanted = 25;
    await judge({
      series: Object.assign({}, ...all),
      expressions: [
        // For 5 Pods with a load of 4 each.
        { expr: perPod, at: "5m", value: 20 },
        { expr: `ceil(${perPod} / ${target})`, at: "5m", value: wanted },
      ],
    });
    expect(scaleUp(5, wanted, behavior.scaleUp)).toEqual([5, 10, 20, 25]);
  },
);

interface ScaleUp {
  stabilizationWindowSeconds: number;
  policies: { type: string; value: number; periodSeconds: number }[];
}

/**
 * The number of servers after each cycle of an autoscaler that polls every 15 s, limited by the scaling policies of
 * Kubernetes. New servers have no load yet, so the same number is needed each time.
 */
function scaleUp(from: number, wanted: number, { stabilizationWindowSeconds, policies }: ScaleUp): number[] {
  const [policy, ...others] = policies;
  expect([stabilizationWindowSeconds, others]).toEqual([0, []]);
  expect(policy).toMatchObject({ type: "Percent", periodSeconds: 15 });
  const share = 1 + (policy?.value ?? 0) / 100;
  const counts = [from];
  for (let last = from; last < wanted; counts.push(last)) last = Math.min(wanted, Math.ceil(last * share));
  return counts;
}
