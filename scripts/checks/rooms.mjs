/**
 * The rooms of the sources: the most lines that each may have, and which way imports run inside `session/` and `server/`.
 * `npm run docs` writes the tables of docs/design/layers.md from these.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, posix, sep } from "node:path";
import { ROOT } from "../root.mjs";
import { readModule } from "./imports.mjs";

const CORE = "packages/openenv/src";
const TEST = /\.test(?:-d)?\.\w+$|\/fixtures\//;
const SOURCE = /\.(?:tsx?|css|py)$/;

/**
 * The most lines of a room, without tests. The longest path that fits a file is its room. A ceiling falls with its room;
 * only a planned feature raises it.
 */
export const CEILINGS = {
  "packages/openenv/src": 940,
  "packages/openenv/src/agents": 344,
  "packages/openenv/src/client": 4342,
  "packages/openenv/src/cluster": 1335,
  "packages/openenv/src/compat": 366,
  "packages/openenv/src/contract": 1766,
  "packages/openenv/src/environment": 2113,
  "packages/openenv/src/mcp": 308,
  "packages/openenv/src/protocol": 2329,
  "packages/openenv/src/testing": 1891,
  "packages/openenv/src/util": 574,
  "packages/openenv/src/validation": 1382,
  "packages/openenv/src/session": 1166,
  "packages/openenv/src/session/agents": 230,
  "packages/openenv/src/session/calls": 1043,
  "packages/openenv/src/session/copies": 229,
  "packages/openenv/src/session/doors": 350,
  "packages/openenv/src/session/durable": 1413,
  "packages/openenv/src/session/isolation": 1087,
  "packages/openenv/src/session/journals": 2245,
  "packages/openenv/src/session/messages": 121,
  "packages/openenv/src/session/registry": 961,
  "packages/openenv/src/session/restore": 407,
  "packages/openenv/src/session/resume": 903,
  "packages/openenv/src/session/statistics": 239,
  "packages/openenv/src/server": 563,
  "packages/openenv/src/server/access": 340,
  "packages/openenv/src/server/config": 793,
  "packages/openenv/src/server/gateway": 94,
  "packages/openenv/src/server/http": 859,
  "packages/openenv/src/server/lifecycle": 242,
  "packages/openenv/src/server/limits": 256,
  "packages/openenv/src/server/logging": 218,
  "packages/openenv/src/server/mcp": 631,
  "packages/openenv/src/server/metrics": 306,
  "packages/openenv/src/server/routes": 1602,
  "packages/openenv/src/server/websocket": 1590,
  "packages/bench/src": 3637,
  "packages/cli/src": 10494,
  "packages/deploy/src": 2457,
  "packages/gateway/src": 900,
  "packages/providers/src": 6528,
  "packages/sockets/src": 33,
  "packages/sockets/src/flow": 648,
  "packages/sockets/src/limits": 221,
  "packages/sockets/src/runtimes": 1709,
  "packages/sockets/src/scheduling": 239,
  "packages/web/src": 11483,
  "python/src": 4231,
};

/**
 * The rooms of a layer from the lowest to the highest: what each is for, and its files and folders. A room imports only
 * itself and lower ones.
 */
export const ORDER = {
  session: {
    statistics: ["counts what a worker does", "statistics/"],
    journals: ["stores named values of sessions in a file, Redis or memory", "journals/"],
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
      ],
    ],
    calls: ["one reset, step, state or tool call, its answer, and the event that is recorded of it", "calls/"],
    restore: ["the events, snapshots and history of a session", "restore/"],
    session: [
      "one environment with its queue and its episode",
      ...["attachable-session.ts", "make-environment.ts", "session-info.ts", "session.ts", "watchdog.ts"],
    ],
    agents: ["tool calls of an agent, which may be steps", "agents/"],
    isolation: ["environments in threads and processes", "isolation/"],
    durable: [
      "a session that outlives its connection or its process: its requests, answers and stored cells",
      "durable/",
    ],
    registry: ["all sessions of a worker: slots, the queue, expiry", "registry/"],
    copies: ["opens sessions that continue from the image of a session: restores and forks", "copies/"],
    resume: ["finds and restores durable sessions for their clients", "resume/"],
    doors: ["answers JSON-RPC, and clients in the same process", "doors/"],
  },
  server: {
    config: ["settings and their values", "config/", "types.ts"],
    access: ["tokens, origins, hosts", "access/"],
    limits: ["measures the process, and the memory that clients may use", "limits/"],
    logging: ["the log", "logging/"],
    context: ["what routes and sockets share, and the other workers", "cluster.ts", "context.ts", "worker-report.ts"],
    lifecycle: ["start, drain and stop", "lifecycle/"],
    http: ["requests, bodies and answers", "http/"],
    websocket: ["frames of a WebSocket", "websocket/"],
    metrics: ["the text of /metrics", "metrics/"],
    mcp: ["MCP over HTTP", "mcp/"],
    gateway: ["mounts other standards", "gateway/"],
    routes: ["the table of routes and their handlers", "routes/"],
    serve: ["puts a server together", "create-context.ts", "index.ts", "journal.ts", "serve.ts", "worker-server.ts"],
  },
};

/** Imports of a higher room, with their number. The numbers only become lower. */
export const BACK = {};

if (process.argv[1] === import.meta.filename) {
  const problems = [
    ...judgeCeilings(countLines(ROOT), CEILINGS),
    ...judgeArrows(
      Object.keys(ORDER).flatMap((layer) => findBackArrows(join(ROOT, CORE, layer), layer, ORDER[layer])),
      BACK,
    ),
  ];
  process.stdout.write(problems.map((problem) => `${problem}\n`).join(""));
  process.exitCode = problems.length > 0 ? 1 : 0;
}

/** The number of lines of each room that has a ceiling. */
export function countLines(root) {
  const lines = Object.fromEntries(Object.keys(CEILINGS).map((room) => [room, 0]));
  for (const base of ["packages", "python"]) {
    for (const entry of readdirSync(join(root, base), { recursive: true })) {
      const file = `${base}/${entry.split(sep).join("/")}`;
      const room = roomOf(file);
      if (room && SOURCE.test(file) && !TEST.test(file)) {
        lines[room] += readFileSync(join(root, file), "utf8").split("\n").length - 1;
      }
    }
  }
  return lines;
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
