/**
 * The public surface of the packages: exports, command line, settings, error codes, routes, headers and metrics. A change
 * is a difference in surface.txt; `npx vitest run conformance/surface.test.mjs --update` writes the file.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ERRORS } from "openenv-ts";
import { connect } from "openenv-ts/client";
import { serve } from "openenv-ts/server";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { API_PACKAGES, readEntries } from "../scripts/docs/api.mjs";
import { ROOT } from "../scripts/root.mjs";
import { callCommand } from "../test-support/commands/command-line.js";
import { findServed } from "./environments.js";

const TOKEN = "surface-test-operator-token-0123456789";
const ORIGIN = "https://trainer.example";
const METHODS = ["GET", "POST", "DELETE"];
/** Headers of the connection, which Node sets. */
const CONNECTION_HEADERS = ["connection", "date", "keep-alive", "transfer-encoding"];

test("surface.txt has the public surface", { timeout: 120_000 }, async () => {
  const sections = {
    exports: API_PACKAGES.flatMap((name) => readEntries(join(ROOT, "packages", name))).flatMap(({ entry, exports }) =>
      exports.map(({ name, kind }) => `${entry} ${kind} ${name}`),
    ),
    "error codes": Object.entries(ERRORS).map(([code, { boundary }]) => `${boundary} ${code}`),
    settings: readSettings(),
    "routes of a server in simulation mode": await readRoutes("tasks", { mode: "simulation" }),
    "routes of a server in production mode": await readRoutes("tools", { mode: "production" }),
    metrics: await readMetrics(),
    "command line": await readHelp([]),
  };
  const text = Object.entries(sections).map(([title, lines]) => `# ${title}\n\n${lines.join("\n")}\n`);
  await expect(text.join("\n")).toMatchFileSnapshot("surface.txt");
});

/** Environment variables that the code reads and that the guide or the settings page documents. */
function readSettings() {
  const guide = readAll(join(ROOT, "docs/guide"), /\.md$/) + readAll(join(ROOT, "docs/reference"), /^settings\.md$/);
  const code = readdirSync(join(ROOT, "packages"))
    .map((name) => join(ROOT, "packages", name, "src"))
    .filter((src) => existsSync(src))
    .map((src) => readAll(src, /(?<!\.test)\.ts$/))
    .join("\n");
  const reads = /(?:(?:variables|env)(?:, "|\["|\.)|setting\(")([A-Z][A-Z0-9_]+)\b/g;
  const read = [...code.matchAll(reads)].map(([, name]) => name);
  return [...new Set(read)].filter((name) => new RegExp(`\\b${name}\\b`).test(guide)).sort();
}

/** Each path of a server with its methods, and the status and header names of each answer. */
function readRoutes(name, options) {
  return withServer(name, options, async (server) => {
    const lines = [];
    for (const path of readPaths(server.environment.contract.name)) {
      const refused = await fetch(`${server.url}${path}`, { method: "PUT", redirect: "manual" });
      const allowed = refused.headers.get("allow")?.split(", ") ?? [];
      if (await opensSocket(server.url, path)) lines.push(`WebSocket ${path}`);
      for (const method of METHODS.filter((one) => allowed.includes(one))) {
        const response = await fetch(`${server.url}${path}`, {
          method,
          redirect: "manual",
          headers: {
            authorization: `Bearer ${TOKEN}`,
            ...(method === "POST" && { "content-type": "application/json" }),
          },
          ...(method === "POST" && { body: "{}" }),
        });
        await response.body?.cancel();
        const headers = [...response.headers.keys()].filter((header) => !CONNECTION_HEADERS.includes(header));
        lines.push(`${method} ${path}: ${response.status} ${headers.join(", ")}`);
      }
    }
    const preflight = await fetch(`${server.url}/reset`, {
      method: "OPTIONS",
      headers: { origin: ORIGIN, "access-control-request-method": "POST" },
    });
    const crossOrigin = [...preflight.headers].filter(([header]) => header.startsWith("access-control-"));
    return [...lines, ...crossOrigin.map(([header, value]) => `${header}: ${value}`)];
  });
}

/** Every path in the code, with examples for its parameters. */
function readPaths(environmentName) {
  const code = readAll(join(ROOT, "packages/openenv/src"), /(?<!\.test)\.ts$/);
  const literals = [...code.matchAll(/"(\/[\w.{}/-]*)"/g)].map(([, path]) => path);
  const tasks = ["splits", "tasks", "task", "task_range", "num_tasks"].map((task) => `/${environmentName}/${task}`);
  const paths = [...literals.filter((path) => !path.includes("{")), ...tasks, "/sessions/none"];
  return [...new Set(paths.filter((path) => !path.includes("//")))].sort();
}

function opensSocket(url, path) {
  return new Promise((resolve) => {
    const socket = new WebSocket(`${url.replace("http", "ws")}${path}`);
    socket.once("open", () => {
      socket.terminate();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

/** Types, names and labels of the metrics during an episode. */
async function readMetrics() {
  const text = await withServer("counter", { mode: "simulation" }, async (server) => {
    const env = await connect(server.url);
    await env.reset();
    await env.step({ amount: 1 });
    const response = await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } });
    await env.close();
    return response.text();
  });
  const labels = new Map();
  for (const [, name, pairs = ""] of text.matchAll(/^(\w+)(?:\{(.*)\})? /gm)) {
    const family = name.replace(/_(bucket|sum|count)$/, "");
    const names = [...pairs.matchAll(/(\w+)="/g)].map(([, label]) => label);
    for (const key of [name, family]) labels.set(key, new Set([...(labels.get(key) ?? []), ...names]));
  }
  return [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)]
    .map(([, name, type]) => `${type} ${name} ${[...(labels.get(name) ?? [])].sort().join(", ")}`.trimEnd())
    .sort();
}

/** The help of a command and of its subcommands. */
async function readHelp(command) {
  const { stdout } = await callCommand([...command, "--help"], { cwd: ROOT });
  const commands = /\nCommands:\n((?: {2}.*\n)*)/.exec(stdout)?.[1] ?? "";
  const names = [...commands.matchAll(/^ {2}(\w+)/gm)].map(([, name]) => name).filter((name) => name !== "help");
  const inner = [];
  for (const name of names) inner.push(await readHelp([...command, name]));
  return [`## openenv ${command.join(" ")}`.trimEnd(), "", stdout.trimEnd(), "", ...inner.flat()];
}

async function withServer(name, options, work) {
  const served = findServed(name);
  const server = await serve(served.environment, {
    ...served.options,
    ...{ host: "127.0.0.1", port: 0, logLevel: "silent", webInterface: true },
    ...{ operatorToken: TOKEN, allowedOrigins: [ORIGIN], maxConcurrentEnvs: 100 },
    ...options,
  });
  try {
    return await work(server);
  } finally {
    await server.close();
  }
}

function readAll(dir, pattern) {
  return readdirSync(dir, { recursive: true })
    .filter((file) => pattern.test(file))
    .sort()
    .map((file) => readFileSync(join(dir, file), "utf8"))
    .join("\n");
}
