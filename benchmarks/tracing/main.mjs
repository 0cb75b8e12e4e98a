/** `npm run bench -- tracing`: what the plugin for OpenTelemetry costs, by the share of steps that are sampled. */
import { Bench } from "../harness/bench.mjs";
import { createFrameLoad } from "../harness/frame-load.mjs";
import { echoWorkload, measureTurns } from "../harness/rate.mjs";
import { startServer } from "../harness/servers.mjs";
import { runSuite } from "../harness/suite.mjs";
import { startReceiver } from "./receiver.mjs";

const CONNECTIONS = 32;
const [ACTION] = echoWorkload.actions(0);
/** One of so many steps has a sampled context, the others one that is not; `off`: without the plugin. */
const VARIANTS = { off: Infinity, "0 %": Infinity, "1 %": 100, "100 %": 1 };
const SPAN = "gen_ai.evaluation.result";
/** A batch of spans waits so long at most. */
const FLUSH_MS = 1_500;
const WARM_UP_SECONDS = 4;

const steps = {
  title: "steps with spans",
  async run(bench) {
    const shares = { "1 %": [], "100 %": [] };
    const [starts, turns, seconds] = bench.quick ? [1, 2, 1] : [10, 12, 0.4];
    const open = (variant) => openVariant(variant, (share) => shares[variant]?.push(share));
    const subjects = Object.keys(VARIANTS);
    const samples = await measureTurns({ subjects, starts, turns, seconds, settleMs: FLUSH_MS, open });
    const { off: plain, ...traced } = samples;
    const limits = { "0 %": 0.97, "1 %": 0.97, "100 %": 0.6 };
    return [
      ...Object.entries(traced).map(([name, values]) => ({
        id: `trace-${name.replace(/\W+/g, "")}`,
        measure: `steps, ${CONNECTIONS} connections, ${name} sampled`,
        unit: "per server CPU-second",
        samples: { extension: values, plain },
        targets: [{ limit: "at least", value: limits[name], of: "plain" }],
      })),
      ...Object.entries(shares).map(([name, values]) => ({
        id: `trace-exported-${name.replace(/\W+/g, "")}`,
        measure: `spans that were exported, ${name} sampled`,
        unit: "of the sampled steps",
        samples: { extension: values },
        targets: [],
      })),
    ];
  },
};

/** `onEnd` gets the share of the sampled steps whose spans were exported. */
async function openVariant(variant, onEnd) {
  const receiver = await startReceiver(SPAN);
  const server = await startServer("traced", variant === "off" ? "off" : "on", [], {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_SCHEDULE_DELAY: "1000",
    OTEL_TRACES_SAMPLER: "parentbased_always_off",
  });
  const every = VARIANTS[variant];
  let sent = 0;
  const [rare, common] = [true, false].map((isSampled) => {
    const metadata = { traceparent: traceparent(isSampled) };
    return JSON.stringify({ type: "step", data: { ...ACTION, metadata } });
  });
  const frames = {
    connections: CONNECTIONS,
    extensions: "",
    hello: [JSON.stringify({ type: "reset" })],
    frame: () => (++sent % every === 0 ? rare : common),
    check: (answer) => echoWorkload.check(JSON.parse(answer).data, ACTION),
  };
  const load = await createFrameLoad({ url: server.url, ...frames });
  // The exporter is loaded and compiled.
  await load.ask(WARM_UP_SECONDS);
  await wait(FLUSH_MS);
  const [before, first] = [receiver.count, sent];
  const close = async () => {
    const sampled = Math.floor(sent / every) - Math.floor(first / every);
    onEnd(sampled === 0 ? 0 : (receiver.count - before) / sampled);
    await load.close();
    await server.close();
    await receiver.close();
  };
  return { server, work: (seconds) => load.ask(seconds), close };
}

const traceparent = (isSampled) => `00-${"4bf92f3577b34da6".repeat(2)}-00f067aa0ba902b7-0${Number(isSampled)}`;
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

await runSuite({
  title: "Cost of tracing",
  name: "tracing",
  parts: { steps },
  createBench: (options) => Object.assign(new Bench(options), { subjects: ["extension", "plain"], python: undefined }),
  notes: () => [
    `One server with the echo environment and ${CONNECTIONS} connections, without the plugin (\`plain\`) and with it (\`extension\`), in turns of servers that all live. Every step has a \`traceparent\` in its metadata, which says whether it is sampled. The spans go to a receiver in the process of the load.`,
    "CPU-seconds are those of the server, user and system, all threads, and contain the export of the spans.",
  ],
});
