import { type Command, InvalidArgumentError, Option } from "commander";
import { ConfigError } from "openenv-ts/internal";
import type { BenchFlags } from "../bench/bench-flags.js";
import { jsonObject, secondsBetween, wholeNumber } from "../terminal/option-values.js";

const EXAMPLES = `
Bursts need a server whose action has wait_seconds, such as envs/benchmark. A server takes as many sessions as
MAX_CONCURRENT_ENVS says: raise it to measure the machine and not the setting.

Examples:
  openenv bench http://localhost:8000 -n 512 -w 1
  openenv bench http://localhost:8000 --requests-grid 32,512,2048 --wait-grid 1.0 --hardware "8 cores"
  openenv bench ws://one:8000 ws://two:8000 --compare --output-dir results/two-servers
  openenv bench http://localhost:8000 --throughput
  openenv bench report results/*`;

const REPORT_EXAMPLES = `
Examples:
  openenv bench report results/*
  openenv bench report before after --output-dir compared --no-figures`;

export function configureBench(command: Command): void {
  command
    .argument("[urls...]", "servers to measure, in turn")
    .option("--url <url>", "one more server")
    .option("--urls <urls>", "more servers, comma separated", list)
    .option("-n, --requests <number>", "one batch size instead of the grid", wholeNumber(1, 1_000_000))
    .option("-w, --wait <seconds>", "one step time instead of the grid", secondsBetween(0, 3600))
    .option(
      "--requests-grid <numbers>",
      "batch sizes",
      grid(wholeNumber(1, 1_000_000)),
      [32, 128, 512, 2048, 4096, 8192, 16384],
    )
    .option("--wait-grid <seconds>", "step times", grid(secondsBetween(0, 3600)), [1, 5, 10])
    .option("--reps <number>", "repetitions of each burst, after the first one", wholeNumber(1, 100), 3)
    .addOption(new Option("--mode <mode>", "transport of the bursts").choices(["ws", "http"]).default("ws"))
    .option("--compare", "measure both transports")
    .option("--throughput", "closed loop of steps instead of bursts, over WebSocket")
    .option(
      "--connections-grid <numbers>",
      "sessions of the closed loop",
      grid(wholeNumber(1, 100_000)),
      [1, 32, 256, 2048],
    )
    .option("--seconds <seconds>", "how long each closed loop is measured", secondsBetween(0.1, 600), 5)
    .option("--action <json>", "what every step sends, for servers without wait_seconds", jsonObject)
    .option("--timeout <seconds>", "time a request has", secondsBetween(0.1, 86_400), 120)
    .option(
      "--processes <number>",
      "processes that produce the load (default: what the descriptors ask)",
      wholeNumber(1, 64),
    )
    .option("--expected-hosts <number>", "hosts that should answer in each burst", wholeNumber(1, 100_000))
    .option("--require-hosts", "fail when fewer hosts answered")
    .option("--hardware <text>", 'what the server runs on; "8 cores" in it gives the batch per core')
    .option("--output-dir <dir>", "folder of raw.jsonl and summary.csv (default: bench-results/<time>)")
    .option("--json", "print the summary as JSON")
    .option("--verbose", "say more about each burst")
    .addHelpText("after", EXAMPLES)
    .action(bench);
  command
    .command("report")
    .description("compare results: tables in Markdown, pictures as SVG and PNG")
    .argument("<dirs...>", "folders that bench has written, each one subject")
    .option("--output-dir <dir>", "folder of REPORT.md and figures/", "bench-report")
    .option("--no-figures", "tables only")
    .addHelpText("after", REPORT_EXAMPLES)
    .action(report);
}

async function bench(args: string[], flags: BenchFlags): Promise<void> {
  const urls = [...new Set([...args, ...(flags.url === undefined ? [] : [flags.url]), ...(flags.urls ?? [])])];
  if (urls.length === 0) throw new ConfigError("Name the URL of a server to measure; see `openenv bench --help`.");
  const { runBench } = await import("../bench/bench-run.js");
  await runBench(urls, flags);
}

async function report(dirs: string[], options: { outputDir: string; figures: boolean }): Promise<void> {
  const { writeReport } = await import("../bench/bench-report.js");
  await writeReport(dirs, options);
}

function list(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

function grid(parse: (text: string) => number): (text: string) => number[] {
  return (text) => {
    const values = list(text).map(parse);
    if (values.length === 0 || values.length > 100) throw new InvalidArgumentError("Give 1 to 100 numbers.");
    return [...new Set(values)];
  };
}
