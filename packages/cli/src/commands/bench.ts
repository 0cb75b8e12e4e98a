import { type Command, InvalidArgumentError, Option } from "commander";
import { ConfigError } from "openenv-ts/internal";
import type { BenchFlags } from "../bench/bench-flags.js";
import { jsonObject, secondsBetween, wholeNumber } from "../terminal/option-values.js";

const EXAMPLES = `
Bursts need a server whose action has wait_seconds, such as envs/benchmark. MAX_CONCURRENT_ENVS limits the sessions of
a server: raise it so that the machine is the limit.

Examples:
  openenv bench http://localhost:8000 -n 512 -w 1
  openenv bench http://localhost:8000 --requests-grid 32,512,2048 --wait-grid 1.0 --hardware "8 cores"
  openenv bench ws://one:8000 ws://two:8000 --compare --output-dir results/two-servers
  openenv bench http://localhost:8000 --cold "openenv serve envs/benchmark --workers 2" -n 64 -w 1
  openenv bench http://localhost:8000 --throughput
  openenv bench http://localhost:8000 --sessions 140 --think 10 --for 60 --action '{"message":"hi"}'
  openenv bench report results/*`;

const REPORT_EXAMPLES = `
Examples:
  openenv bench report results/*
  openenv bench report before after --output-dir compared --no-figures`;

export function configureBench(command: Command): void {
  command
    .argument("[urls...]", "servers to measure, one after the other")
    .option("--url <url>", "another server")
    .option("--urls <urls>", "more servers, comma-separated", list)
    .option("-n, --requests <number>", "a single batch size instead of the grid", wholeNumber(1, 1_000_000))
    .option("-w, --wait <seconds>", "a single step time in seconds instead of the grid", secondsBetween(0, 3600))
    .option(
      "--requests-grid <numbers>",
      "batch sizes",
      grid(wholeNumber(1, 1_000_000)),
      [32, 128, 512, 2048, 4096, 8192, 16384],
    )
    .option("--wait-grid <seconds>", "step times in seconds", grid(secondsBetween(0, 3600)), [1, 5, 10])
    .option("--reps <number>", "repetitions of each burst after the first", wholeNumber(1, 100), 3)
    .addOption(new Option("--mode <mode>", "transport of the bursts").choices(["ws", "http"]).default("ws"))
    .option("--compare", "measure both transports")
    .option(
      "--cold <command>",
      "start the server with this command for each burst and stop it afterwards; once for each URL, in the same order",
      (command: string, before: string[] = []) => [...before, command],
    )
    .option("--throughput", "measure a closed loop of steps over WebSocket instead of bursts")
    .option(
      "--connections-grid <numbers>",
      "sessions of the closed loop",
      grid(wholeNumber(1, 100_000)),
      [1, 32, 256, 2048],
    )
    .option("--seconds <seconds>", "duration of each closed loop", secondsBetween(0.1, 600), 5)
    .option(
      "--sessions <number>",
      "measure this many sessions that step like those of a trainer, and how large a worker can be",
      wholeNumber(1, 100_000),
    )
    .option("--think <seconds>", "average time before each step of --sessions (default: 10)", secondsBetween(0, 3600))
    .option("--for <seconds>", "duration of --sessions (default: 60)", secondsBetween(0.1, 86_400))
    .option("--action <json>", "action of every step, for servers without wait_seconds", jsonObject)
    .option("--timeout <seconds>", "timeout of a request", secondsBetween(0.1, 86_400), 120)
    .option(
      "--processes <number>",
      "processes that generate the load (default: as many as the descriptor limit requires)",
      wholeNumber(1, 64),
    )
    .option("--expected-hosts <number>", "number of hosts expected to answer in each burst", wholeNumber(1, 100_000))
    .option("--require-hosts", "fail when fewer hosts answered")
    .option(
      "--hardware <text>",
      'hardware of the server, for the report; with "8 cores" the report shows the batch per core',
    )
    .option("--output-dir <dir>", "folder for raw.jsonl and summary.csv (default: bench-results/<time>)")
    .option("--json", "print the summary as JSON")
    .option("--verbose", "print details of each burst")
    .addHelpText("after", EXAMPLES)
    .action(bench);
  command
    .command("report")
    .description("compare results in Markdown tables and in figures (SVG and PNG)")
    .argument("<dirs...>", "folders with results, one for each subject")
    .option("--output-dir <dir>", "folder for REPORT.md and figures/", "bench-report")
    .option("--no-figures", "write only tables")
    .addHelpText("after", REPORT_EXAMPLES)
    .action(report);
}

async function bench(args: string[], flags: BenchFlags): Promise<void> {
  const urls = [...new Set([...args, ...(flags.url === undefined ? [] : [flags.url]), ...(flags.urls ?? [])])];
  if (urls.length === 0) throw new ConfigError("No server to measure: pass its URL, see `openenv bench --help`.");
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
    if (values.length === 0 || values.length > 100)
      throw new InvalidArgumentError("Must be a list of 1 to 100 numbers.");
    return [...new Set(values)];
  };
}
