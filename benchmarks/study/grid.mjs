/** What the bursts of the grid say: findings, tables, and rows of the CSV. */
import {
  createFigures,
  ENOUGH_SUCCESS,
  findMaxBatches,
  renderLargest,
  renderStop,
  repetitionsOf,
  spreadOf,
} from "@openenv-ts/bench";
import { drawSamples } from "./figures.mjs";
import { renderSeconds, renderTable, three, whole } from "./text.mjs";

const PARTS = ["start", "connect", "reset", "step"];

/** The largest batch of each setup and wait with its rows: all repetitions together, each, and the first burst. */
export function findLargest(bursts) {
  return findMaxBatches(bursts).map((batch) => {
    const same = bursts.filter((row) => isAt(row, batch, batch.bySuccess));
    const [all, first] = ["all", "first"].map((rep) => same.find((row) => row.rep === rep));
    return { ...batch, all, first, single: all ? repetitionsOf(all, bursts) : [] };
  });
}

/** The sections of the grid that have something to show. */
export function describeGrid(bursts) {
  return QUESTIONS.flatMap(({ subjects, ...question }) => {
    const own = bursts.filter(({ subject }) => subjects.test(subject));
    const largest = findLargest(own);
    const wait = Math.max(...largest.map(({ wait_seconds }) => wait_seconds));
    const { name, title, figure } = question;
    const findings = question.say({ bursts: own, largest, wait });
    // A comparison needs two.
    if (findings.length === 0) return [];
    return [
      {
        ...{ name, title, findings },
        table: question.table(largest),
        ...(typeof figure === "string" ? pick(createFigures(own), figure) : { figure: figure(largest, wait) }),
      },
    ];
  });
}

const QUESTIONS = [
  {
    name: "one-server",
    title: "How many sessions does one server hold?",
    subjects: /^(node-[12]-workers?|python-.*)$/,
    figure: "latency-p99",
    say: ({ largest, wait }) => atWait(largest, wait).map(sayLargest),
    table: tabulate,
  },
  {
    name: "workers",
    title: "What do more workers change?",
    subjects: /^node-\d-workers?$/,
    figure: "latency-p99",
    say: ({ bursts, wait }) => sayCommon(bursts, wait),
    table: tabulate,
  },
  {
    name: "setups",
    title: "What do containers, balancers and jobs change?",
    subjects: /^(node-2-workers|docker.*|space-like|two-.*)$/,
    figure: "max-batch",
    say: ({ largest, wait }) => atWait(largest, wait).map(sayLargest),
    table: tabulate,
  },
  {
    name: "http",
    title: "HTTP or WebSocket?",
    subjects: /^node-[14]-workers?(-http)?$/,
    figure: "latency-p99",
    say: ({ bursts, wait }) => (bursts.some(({ mode }) => mode === "http") ? sayCommon(bursts, wait) : []),
    table: tabulate,
  },
  {
    name: "cold",
    title: "What does the first burst of a new server cost?",
    subjects: /./,
    figure: drawCold,
    say: ({ largest }) => sayCold(largest),
    table: (largest) =>
      renderTable(
        ["setup", "wait", "batch", "first: p99", "started in", "after it: p99", "started in"],
        largest.flatMap(({ first, all }) =>
          first === undefined
            ? []
            : [
                [
                  ...[first.subject, `${first.wait_seconds} s`, whole(first.requests)],
                  ...[first, all].flatMap((row) => [row.total_p99_ms, row.start_spread_ms].map(renderSeconds)),
                ],
              ],
        ),
      ),
  },
  {
    name: "breakdown",
    title: "Where does the time go?",
    subjects: /./,
    figure: "breakdown",
    say: ({ largest, wait }) => sayBreakdown(atWait(largest, wait)),
    table: (largest) =>
      renderTable(
        ["setup", "wait", "batch", ...PARTS],
        largest.flatMap(({ all }) =>
          all === undefined
            ? []
            : [
                [
                  ...[all.subject, `${all.wait_seconds} s`, whole(all.requests)],
                  ...PARTS.map((part) => renderSeconds(all[`${part}_p50_ms`])),
                ],
              ],
        ),
      ),
  },
];

/** Rows of the CSV, with a sample for each repetition at the largest batch, and the p99 of every completed batch. */
export function gridRows(bursts) {
  const rows = new Map();
  const add = (id, unit, subject, values) => {
    const kept = values.filter((value) => value !== null && value !== undefined);
    if (kept.length === 0) return;
    if (!rows.has(id)) rows.set(id, { id, unit, samples: {} });
    rows.get(id).samples[subject] = kept;
  };
  for (const { subject, wait_seconds: wait, bySuccess, single, first } of findLargest(bursts)) {
    const of = (key, scale = 1) => single.map((row) => (row[key] === null ? null : row[key] / scale));
    add(`max-batch-${wait}s`, "sessions", subject, [bySuccess ?? 0]);
    add(`p99-${wait}s`, "s", subject, of("total_p99_ms", 1000));
    if (first?.total_p99_ms) add(`first-p99-${wait}s`, "s", subject, [first.total_p99_ms / 1000]);
    add(`rate-${wait}s`, "requests/s", subject, of("requests_per_second"));
    add(`client-cpu-${wait}s`, "s", subject, of("client_cpu_seconds"));
    if (isServerAlone(subject)) add(`server-cpu-${wait}s`, "s", subject, of("server_cpu_seconds"));
  }
  for (const row of bursts.filter(({ rep, success_rate }) => rep === "all" && success_rate >= ENOUGH_SUCCESS)) {
    const values = repetitionsOf(row, bursts).map(({ total_p99_ms }) => total_p99_ms / 1000);
    add(`p99-${row.requests}-${row.wait_seconds}s`, "s", row.subject, values);
  }
  return [...rows.values()];
}

/** The processes behind the port are the whole server; not with a balancer, a proxy or a job before it. */
function isServerAlone(subject) {
  return /^(node|python)-/.test(subject);
}

function tabulate(largest) {
  const head = ["setup", "wait", "largest batch", "p99", "requests/s", "server CPU", "load CPU", "stopped by"];
  return renderTable(
    head,
    largest.map((batch) => {
      const { subject, wait_seconds, all, single } = batch;
      const cells = [subject, `${wait_seconds} s`, renderLargest(batch)];
      if (all === undefined) return [...cells, "–", "–", "–", "–", renderStop(batch)];
      const show = (value, render) => {
        const { least, most } = spreadOf(single, value) ?? {};
        const spread = single.length > 1 ? ` (${render(least)}–${render(most)})` : "";
        return `${render(value(all))}${spread}`;
      };
      const cpu = (seconds) => (seconds === null ? "–" : `${three(seconds / single.length)} s`);
      return [
        ...cells,
        `${show(({ total_p99_ms }) => total_p99_ms / 1000, three)} s${all.client_limited ? " °" : ""}`,
        show(({ requests_per_second }) => Math.round(requests_per_second), whole),
        isServerAlone(subject) ? cpu(all.server_cpu_seconds) : "–",
        cpu(all.client_cpu_seconds),
        renderStop(batch),
      ];
    }),
  );
}

function sayLargest(batch) {
  const { subject, wait_seconds, bySuccess, all } = batch;
  const steps = `with steps of ${wait_seconds} s`;
  if (bySuccess === null) return `\`${subject}\` completed no batch ${steps}: ${renderStop(batch)}.`;
  const end = batch.stop === null ? "the largest that was tried" : `it stopped by ${renderStop(batch)}`;
  return `\`${subject}\` completed ${whole(bySuccess)} sessions ${steps}, p99 ${renderSeconds(all.total_p99_ms)}; ${end}.`;
}

/** The p99 of all at the largest batch that each has completed. */
function sayCommon(bursts, wait) {
  const done = bursts.filter(
    ({ rep, wait_seconds, success_rate }) => rep === "all" && wait_seconds === wait && success_rate >= ENOUGH_SUCCESS,
  );
  const subjects = [...new Set(done.map(({ subject }) => subject))];
  const batches = [...new Set(done.map(({ requests }) => requests))].toSorted((a, b) => b - a);
  const common = batches.find((batch) => done.filter(({ requests }) => requests === batch).length === subjects.length);
  if (subjects.length < 2 || common === undefined) return [];
  const values = subjects.map((subject) => {
    const row = done.find((one) => one.subject === subject && one.requests === common);
    return `${renderSeconds(row.total_p99_ms)} for \`${subject}\``;
  });
  return [`At ${whole(common)} sessions and steps of ${wait} s the p99 is ${values.join(", ")}.`];
}

function sayCold(largest) {
  const ratios = largest.flatMap(({ first, all, subject, wait_seconds }) =>
    first?.total_p99_ms && all ? [{ ratio: first.total_p99_ms / all.total_p99_ms, subject, wait_seconds }] : [],
  );
  if (ratios.length === 0) return [];
  const [least, ...rest] = ratios.toSorted((a, b) => a.ratio - b.ratio);
  const most = rest.at(-1) ?? least;
  const show = ({ ratio, subject, wait_seconds }) => `${three(ratio)} (\`${subject}\`, steps of ${wait_seconds} s)`;
  return [
    `At the largest batch of each setup, the p99 of the first burst is ${show(least)} to ${show(most)} times that of the next.`,
  ];
}

function sayBreakdown(largest) {
  return largest.flatMap(({ all }) => {
    if (all === undefined) return [];
    const took = PARTS.map((part) => [
      part,
      Math.max(0, all[`${part}_p50_ms`] / 1000 - (part === "step" ? all.wait_seconds : 0)),
    ]);
    const total = took.reduce((sum, [, value]) => sum + value, 0);
    const [part, value] = took.toSorted((a, b) => b[1] - a[1])[0];
    const where = part === "step" ? "the step beyond its wait" : part;
    return [
      `\`${all.subject}\` at ${whole(all.requests)}: ${where} takes ${three((100 * value) / total)} % of what a request ` +
        `takes beyond its wait of ${all.wait_seconds} s.`,
    ];
  });
}

function drawCold(largest, wait) {
  const rows = atWait(largest, wait).filter(({ first, all }) => first?.total_p99_ms && all);
  if (rows.length === 0) return undefined;
  return drawSamples(
    {
      title: `p99 of the first burst and of the next, steps of ${wait} s`,
      says: "At the largest batch of each setup.",
      caption: "",
      unit: "seconds",
    },
    rows.map(({ subject, bySuccess, first, single }) => ({
      measure: `${subject} at ${whole(bySuccess)}`,
      samples: { first: [first.total_p99_ms / 1000], next: single.map(({ total_p99_ms }) => total_p99_ms / 1000) },
    })),
  );
}

function pick({ drawn, omitted }, name) {
  const { reason } = omitted.find((figure) => figure.name === name) ?? {};
  return { figure: drawn.find((figure) => figure.name === name), reason };
}

function atWait(largest, wait) {
  return largest.filter(({ wait_seconds }) => wait_seconds === wait);
}

function isAt(row, { subject, wait_seconds }, requests) {
  return row.subject === subject && row.wait_seconds === wait_seconds && row.requests === requests;
}
