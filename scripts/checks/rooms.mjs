/**
 * The rooms of the sources: the most lines that each may have, and which way imports run inside `session/` and `server/`.
 * `npm run docs` writes the tables of docs/design/layers.md from these.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix, sep } from "node:path";
import { ROOT } from "../root.mjs";
import { readModule } from "./imports.mjs";

const CORE = "packages/openenv/src";
const TEST = /\.test(?:-d)?\.\w+$|\/fixtures\//;
const SOURCE = /^[^/]+\/(?:[^/]+\/)?src\/.*\.(?:tsx?|css|py)$/;

/**
 * The most lines of a room, without tests. The longest path that fits a file is its room. A ceiling falls with its room;
 * only a planned feature raises it.
 */
export const CEILINGS = {
  "packages/openenv/src": 894,
  "packages/openenv/src/agents": 344,
  "packages/openenv/src/client": 4527,
  "packages/openenv/src/compat": 376,
  "packages/openenv/src/contract": 1820,
  "packages/openenv/src/environment": 3398,
  "packages/openenv/src/mcp": 308,
  "packages/openenv/src/protocol": 2936,
  "packages/openenv/src/testing": 2059,
  "packages/openenv/src/util": 596,
  "packages/openenv/src/validation": 1409,
  "packages/openenv/src/session": 1430,
  "packages/openenv/src/session/agents": 230,
  "packages/openenv/src/session/calls": 1254,
  "packages/openenv/src/session/copies": 231,
  "packages/openenv/src/session/doors": 381,
  "packages/openenv/src/session/messages": 188,
  "packages/openenv/src/session/registry": 1297,
  "packages/openenv/src/session/restore": 497,
  "packages/openenv/src/session/statistics": 307,
  "packages/openenv/src/server": 961,
  "packages/openenv/src/server/access": 382,
  "packages/openenv/src/server/config": 941,
  "packages/openenv/src/server/gateway": 162,
  "packages/openenv/src/server/http": 949,
  "packages/openenv/src/server/lifecycle": 251,
  "packages/openenv/src/server/limits": 264,
  "packages/openenv/src/server/logging": 237,
  "packages/openenv/src/server/mcp": 637,
  "packages/openenv/src/server/metrics": 413,
  "packages/openenv/src/server/parts": 260,
  "packages/openenv/src/server/plugins": 1004,
  "packages/openenv/src/server/routes": 1675,
  "packages/openenv/src/server/websocket": 1510,
  "packages/bench/src": 3628,
  "packages/cli/src": 12850,
  "packages/cluster/src": 1323,
  "packages/deploy/src": 2682,
  "packages/durable/src": 14,
  "packages/durable/src/journals": 1921,
  "packages/durable/src/resume": 1175,
  "packages/durable/src/routes": 102,
  "packages/durable/src/session": 1546,
  "packages/gateway/src": 916,
  "packages/isolation/src": 1083,
  "packages/otel/src": 255,
  "packages/providers/src": 6718,
  "packages/rollouts/src": 2690,
  "packages/sockets/src": 44,
  "packages/sockets/src/flow": 673,
  "packages/sockets/src/limits": 221,
  "packages/sockets/src/runtimes": 1716,
  "packages/sockets/src/scheduling": 239,
  "packages/upstream/src": 712,
  "packages/upstream/src/fleet": 807,
  "packages/web/src": 18800,
  "python/src": 4731,
};

/**
 * The rooms of a layer, or of a part, from the lowest to the highest: what each is for, and its files and folders. A room imports only
 * itself and lower ones.
 */
export const ORDER = {
  session: {
    statistics: ["counts what a worker does", "statistics/"],
    messages: ["checks and writes messages", "messages/"],
    failure: [
      "what all sessions share, and an error with a code for what an environment throws",
      ...[
        "failure.ts",
        "packed-error.ts",
        "restore-limits.ts",
        "runtime.ts",
        "session-killed.ts",
        "session-rejected-error.ts",
        "to-error.ts",
      ],
    ],
    calls: ["one reset, step, state or tool call, its answer, and the event that is recorded of it", "calls/"],
    restore: ["the events, snapshots and history of a session", "restore/"],
    session: [
      "one environment with its queue and its episode",
      ...["attachable-session.ts", "make-environment.ts", "session-info.ts", "session.ts", "watchdog.ts"],
    ],
    agents: ["tool calls of an agent, which may be steps", "agents/"],
    registry: ["all sessions of a worker: slots, the queue, expiry", "registry/"],
    copies: ["opens sessions that continue from the image of a session: restores and forks", "copies/"],
    batch: ["the sessions of one socket with the extension batch", "batch.ts"],
    doors: ["answers JSON-RPC, and clients in the same process", "doors/"],
  },
  server: {
    config: [
      "settings and their values, and what a plugin is",
      ...["config/", "types.ts", "plugins/plugin.ts", "plugins/check-plugins.ts"],
    ],
    access: ["tokens, origins, hosts", "access/"],
    sqlite: ["opens files of SQLite in each runtime", "sqlite/"],
    limits: ["measures the process, and the memory that clients may use", "limits/"],
    logging: ["the log", "logging/"],
    plugins: ["calls the hooks of plugins", "plugins/"],
    context: ["what routes and sockets share, and the other workers", "cluster.ts", "context.ts", "worker-report.ts"],
    lifecycle: ["start, drain and stop", "lifecycle/"],
    http: ["requests, bodies and answers", "http/"],
    parts: ["loads the parts that may be missing, each in one file", "parts/"],
    websocket: ["frames of a WebSocket", "websocket/"],
    metrics: ["the text of /metrics", "metrics/"],
    mcp: ["MCP over HTTP", "mcp/"],
    gateway: ["mounts other standards", "gateway/"],
    routes: ["the table of routes and their handlers", "routes/"],
    serve: ["puts a server together", "create-context.ts", "index.ts", "serve.ts", "worker-server.ts"],
  },
  durable: {
    journals: ["stores named values of sessions in a file, Redis or memory", "journals/"],
    session: [
      "a session that outlives its connection or its process: its requests, answers and stored cells",
      "session/",
    ],
    resume: ["finds and restores durable sessions for their clients", "resume/"],
    routes: ["HTTP routes of one session", "routes/"],
    part: ["what the rest of openenv-ts knows of the part", "index.ts", "journals-part.ts"],
  },
};

/** Where the rooms of a layer are that is a package. */
const FOLDERS = { durable: "packages/durable/src" };

/** Imports of a higher room, with their number. The numbers only become lower. */
export const BACK = {};

if (process.argv[1] === import.meta.filename) {
  const problems = [
    ...judgeCeilings(countLines(ROOT), CEILINGS),
    ...unlimited(ROOT),
    ...judgeArrows(
      Object.keys(ORDER).flatMap((layer) => {
        const folder = join(ROOT, FOLDERS[layer] ?? `${CORE}/${layer}`);
        // A part may be missing.
        return existsSync(folder) ? findBackArrows(folder, layer, ORDER[layer]) : [];
      }),
      BACK,
    ),
  ];
  process.stdout.write(problems.map((problem) => `${problem}\n`).join(""));
  process.exitCode = problems.length > 0 ? 1 : 0;
}

/** The number of lines of each room that has a ceiling. */
export function countLines(root) {
  const lines = Object.fromEntries(Object.keys(CEILINGS).map((room) => [room, 0]));
  for (const file of listSources(root)) {
    const room = roomOf(file);
    if (room) lines[room] += readFileSync(join(root, file), "utf8").split("\n").length - 1;
  }
  return lines;
}

/** Folders with sources that no ceiling covers, such as those of a new package. */
export function unlimited(root) {
  const folders = listSources(root).flatMap((file) => (roomOf(file) ? [] : [file.split("/src/", 1)[0]]));
  return [...new Set(folders)].map((folder) => `${folder}/src has no ceiling: add it in scripts/checks/rooms.mjs.`);
}

function listSources(root) {
  return ["packages", "python"].flatMap((base) =>
    readdirSync(join(root, base), { recursive: true })
      .map((entry) => `${base}/${entry.split(sep).join("/")}`)
      .filter((file) => SOURCE.test(file) && !TEST.test(file)),
  );
}

function roomOf(file) {
  return Object.keys(CEILINGS)
    .filter((room) => file.startsWith(`${room}/`))
    .toSorted((a, b) => b.length - a.length)[0];
}

export function judgeCeilings(lines, ceilings) {
  return Object.entries(ceilings)
    .filter(([room, ceiling]) => lines[room] > ceiling)
    .map(([room, ceiling]) => `${room} has ${lines[room]} lines; its ceiling is ${ceiling}. Make it smaller.`);
}

/** The imports of a layer that run from a room to a higher one, as "room -> room: file". */
export function findBackArrows(folder, layer, rooms) {
  const names = Object.keys(rooms);
  const rankOf = (file) => {
    const rank = names.findIndex((name) =>
      rooms[name].slice(1).some((part) => file === part || (part.endsWith("/") && file.startsWith(part))),
    );
    if (rank < 0) throw new Error(`${layer}/${file} is in no room: add it to ORDER in scripts/checks/rooms.mjs.`);
    return rank;
  };
  return readdirSync(folder, { recursive: true })
    .map((file) => file.split(sep).join("/"))
    .filter((file) => file.endsWith(".ts") && !TEST.test(file))
    .flatMap((file) =>
      readModule(join(folder, file)).imports.flatMap(({ specifier, line }) => {
        const target = posix.join(posix.dirname(file), specifier).replace(/\.js$/, ".ts");
        if (!specifier.startsWith(".") || target.startsWith("..") || TEST.test(target)) return [];
        const [from, to] = [rankOf(file), rankOf(target)];
        return to > from ? [{ arrow: `${layer}: ${names[from]} -> ${names[to]}`, at: `${layer}/${file}:${line}` }] : [];
      }),
    );
}

/** Compares the back arrows with those that are allowed. A number that is too high fails as well, so that it is lowered. */
export function judgeArrows(found, allowed) {
  const arrows = new Set([...found.map(({ arrow }) => arrow), ...Object.keys(allowed)]);
  return [...arrows].flatMap((arrow) => {
    const places = found.filter((one) => one.arrow === arrow).map(({ at }) => at);
    const limit = allowed[arrow] ?? 0;
    if (places.length === limit) return [];
    if (places.length < limit)
      return [`"${arrow}" has ${places.length} imports: lower its number in scripts/checks/rooms.mjs.`];
    return [`"${arrow}" has ${places.length} imports, ${limit} are allowed: ${places.join(", ")}`];
  });
}
