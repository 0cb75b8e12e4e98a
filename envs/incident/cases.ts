import { type Rng, rng as seeded } from "openenv-ts";
import { type Files, isLog, listChanged, put, setKey } from "./files.js";
import { confOf, findProblem, lockOf, log, logOf, SEGMENTS, type Service, start, tick, type World } from "./world.js";

/** What services use, and what their config has beyond port, memory_mb, log_level and secret; in the order of their start. */
const ROLES: Record<string, { links: string[]; keys: string[] }> = {
  db: { links: [], keys: ["data"] },
  cache: { links: [], keys: [] },
  auth: { links: ["db"], keys: ["tls_cert"] },
  worker: { links: ["db", "cache"], keys: ["release"] },
  api: { links: ["db", "cache"], keys: ["release"] },
  edge: { links: ["api", "auth"], keys: ["tls_cert"] },
};

interface Scene {
  world: World;
  service: Service;
  rng: Rng;
}
/** What can break, how hard it is to find, and the roles of the services that can have it. */
const FAULTS = {
  port: fault(1, "db cache auth api", ({ world, service: { name }, rng }) => {
    const taken = rng.pick(world.services.filter((one) => one.name !== name)).port;
    setKey(world.files, confOf(name), "port", rng.pick([taken, freePort(world, rng)]));
  }),
  upstream: fault(1, "auth worker api edge", (scene) => misdirect(scene, confOf(scene.service.name))),
  permission: fault(1, "db cache auth worker api edge", ({ world: { files }, service, rng }) => {
    const path = secretOf(service.name);
    put(files, path, files[path]?.data ?? "", { mode: rng.pick([0o644, 0o666, 0o640, 0]) });
  }),
  lock: fault(1, "db cache auth", ({ world, service, rng }) =>
    put(world.files, lockOf(service.name), `${rng.int(3_000, 9_000)}\n`),
  ),
  certificate: fault(2, "auth edge", ({ world: { files, facts }, service: { name } }) => {
    const expired = Object.keys(files).find((path) => facts[`${name} ${files[path]?.data}`]?.startsWith("expired"));
    setKey(files, confOf(name), "tls_cert", expired ?? "");
  }),
  memory: fault(2, "db cache worker", ({ world, service: { name, needMb }, rng }) =>
    setKey(world.files, confOf(name), "memory_mb", rng.int(needMb >> 2, needMb - 20)),
  ),
  disk: fault(2, "worker api edge", ({ world, service }) =>
    setKey(world.files, confOf(service.name), "log_level", "debug"),
  ),
  release: fault(2, "worker api", ({ world, service: { name } }) => {
    const latest = Object.keys(world.facts).findLast((key) => key.startsWith(`${name} /srv/`)) ?? "";
    put(world.files, `/srv/${name}/current`, latest.slice(latest.indexOf("releases")));
  }),
  cron: fault(3, "auth worker api", (scene) => {
    const { world, service } = scene;
    misdirect(scene, templateOf(service.name));
    put(world.files, confOf(service.name), world.files[templateOf(service.name)]?.data ?? "");
  }),
};

function fault(difficulty: number, roles: string, damage: (scene: Scene) => void) {
  return { difficulty, roles: roles.split(" "), damage };
}

export type Kind = keyof typeof FAULTS;
export const kinds = Object.keys(FAULTS) as [Kind, ...Kind[]];
export const difficultyOf = (kind: Kind): number => FAULTS[kind].difficulty;

/** As many as there are tasks of a kind, and in turn: no two of them have services with the same names. */
const NAMES = "ash birch cedar delta ember fjord grove heath inlet jade kelp larch maple north ochre pine".split(" ");

export interface Case {
  world: World;
  /** The files before something broke. */
  healthy: Files;
  alert: string;
}

/** Makes a case: the same for a seed and a kind; without a kind the seed chooses it. */
export function makeCase(seed: number, chosen?: Kind): Case {
  const rng = seeded(seed);
  const drawn = rng.pick(kinds);
  const kind = chosen ?? drawn;
  const { roles, damage } = FAULTS[kind];
  const world = build(rng, NAMES[Math.floor(seed / kinds.length) % NAMES.length] ?? "");
  const service = rng.pick(world.services.filter(({ role }) => roles.includes(role)));
  if (kind === "cron") {
    const [template, conf] = [templateOf(service.name), confOf(service.name)];
    put(world.files, template, world.files[conf]?.data ?? "");
    put(world.files, `/etc/cron.d/${service.name}`, `* * * * * root cp ${template} ${conf}\n`);
  }
  for (const one of world.services) start(world, one);
  writeHistory(world, rng);
  const healthy = structuredClone(world.files);
  damage({ world, service, rng });
  start(world, service);
  for (const path of listBroken({ world, healthy })) if (world.files[path]) world.files[path].time = world.clock;
  const since = new Date(world.clock).toISOString().slice(11, 16);
  // Long enough for debug logs to fill the disk.
  for (let minute = 0; minute < 5; minute++) tick(world);
  const failing = world.services.filter((one) => findProblem(world, one) !== null);
  const top = failing.filter(({ role }) => !failing.some(({ links }) => links.includes(role)));
  return { world, healthy, alert: `Unhealthy since ${since} UTC: ${top.map(({ name }) => name).join(", ")}.` };
}

/** The files that a repair has to change. */
export function listBroken({ world, healthy }: Pick<Case, "world" | "healthy">): string[] {
  return listChanged(world.files, healthy).filter((path) => !isLog(path));
}

const secretOf = (name: string): string => `/etc/${name}/secret.key`;
const templateOf = (name: string): string => `/usr/share/config/${name}.conf`;
const toDay = (time: number): string => new Date(time).toISOString().slice(0, 10);

function freePort(world: World, rng: Rng): number {
  const port = rng.int(8_000, 8_999);
  return world.services.some((one) => one.port === port) ? freePort(world, rng) : port;
}

/** Points one upstream of a config to where nothing listens. */
function misdirect({ world, service, rng }: Scene, path: string): void {
  setKey(world.files, path, `upstream.${rng.pick(service.links)}`, `127.0.0.1:${freePort(world, rng)}`);
}

const DAY = 86_400_000;
const FIRST_DAY = Date.UTC(2025, 0, 1);

/** A host on which nothing is broken, before its services start. */
function build(rng: Rng, prefix: string): World {
  const clock = FIRST_DAY + rng.int(0, 300) * DAY + rng.int(400, 1_400) * 60_000;
  const files: Files = {};
  const world: World = { clock, nextPid: rng.int(200, 900), files, services: [], facts: {}, needless: 0 };
  for (const [role, { links, keys: more }] of Object.entries(ROLES)) {
    const keys = ["port", "memory_mb", "log_level", "secret", ...links.map((link) => `upstream.${link}`), ...more];
    const fixed = {
      name: `${prefix}-${role}`,
      role,
      port: freePort(world, rng),
      needMb: rng.int(80, 400),
      links,
      keys,
    };
    world.services.push({ ...fixed, pid: null, loaded: {}, failure: null, logged: null });
  }
  for (const service of world.services) furnish({ world, service, rng });
  put(files, "/etc/ports", world.services.map(({ name, port }) => `${name} ${port}\n`).join(""));
  put(files, "/etc/cron.d/cleanup", "*/30 * * * * root find /tmp -name '*.old' -delete\n");
  put(files, "/RUNBOOK.md", RUNBOOK);
  for (const entry of Object.values(files)) entry.time ||= clock - 40 * DAY;
  return world;
}

/** Makes the files of a service. */
function furnish({ world, service: { name, port, needMb, keys }, rng }: Scene): void {
  const { files, facts, clock, services } = world;
  const hex = (length: number) => Array.from({ length }, () => rng.int(0, 15).toString(16)).join("");
  const values: Record<string, () => string | number> = {
    port: () => port,
    memory_mb: () => needMb + rng.int(30, 90),
    log_level: () => "info",
    secret: () => {
      const data = `${hex(32)}\n`;
      facts[`${name} ${data}`] = null;
      put(files, secretOf(name), data, { mode: 0o600 });
      return secretOf(name);
    },
    data: () => {
      for (let nth = 1; nth <= SEGMENTS; nth++)
        put(files, `/var/lib/${name}/segment-${nth}`, `${hex(63)}\n`.repeat(192));
      return `/var/lib/${name}`;
    },
    tls_cert: () => {
      const other = rng.pick(services.filter((one) => one.name !== name)).name;
      const certificates = [[name, rng.int(60, 300)] as const, [name, -rng.int(1, 20)] as const, [other, 90] as const];
      const paths = certificates.map(([subject, days]) => {
        const data = `subject = ${subject}\nexpires = ${toDay(clock + days * DAY)}\nserial = ${hex(16)}\n`;
        const expired = days < 0 ? `expired on ${toDay(clock + days * DAY)}` : null;
        facts[`${name} ${data}`] = subject === name ? expired : `is for ${subject}, not for ${name}`;
        const path = `/etc/ssl/${name}/${hex(6)}.pem`;
        put(files, path, data);
        return path;
      });
      return paths[0] ?? "";
    },
    release: () => {
      const [latest, schema] = [rng.int(12, 60), rng.int(3, 40)];
      const reasons = [
        `needs schema ${schema - 1}, the database has ${schema}`,
        null,
        "needs runtime 22, the host has 20",
      ];
      for (const [nth, reason] of reasons.entries()) {
        const folder = `/srv/${name}/releases/v${latest + nth - 2}`;
        facts[`${name} ${folder}`] = reason;
        put(files, `${folder}/manifest`, `runtime = ${nth < 2 ? 20 : 22}\nschema = ${nth ? schema : schema - 1}\n`);
      }
      put(files, `/srv/${name}/current`, `releases/v${latest - 1}`, { kind: "link", mode: 0o777 });
      return `/srv/${name}/current`;
    },
  };
  const upstreamOf = (key: string) => `127.0.0.1:${services.find(({ role }) => key.endsWith(`.${role}`))?.port}`;
  put(files, confOf(name), keys.map((key) => `${key} = ${values[key]?.() ?? upstreamOf(key)}\n`).join(""));
}

/** What happened in the last hours, most of which does not matter. */
function writeHistory(world: World, rng: Rng): void {
  const now = world.clock;
  for (const { name } of world.services) {
    for (let ago = 360; ago > 20; ago -= rng.int(10, 40)) {
      world.clock = now - ago * 60_000;
      const ms = rng.int(2, 90);
      const usual = `INFO served ${rng.int(20, 900)} requests, ${ms} ms`;
      log(
        world,
        logOf(name),
        rng.pick([usual, usual, `WARN a request took ${ms * 40} ms`, "INFO reloaded the list of clients"]),
      );
    }
  }
  world.clock = now;
}

const RUNBOOK = `# Runbook

- svc list, svc status NAME: what runs. svc start|stop|restart NAME. A service reads its config only when it starts.
- ps, df, metrics [NAME], curl http://127.0.0.1:PORT/health
- /etc/NAME/NAME.conf has the config, /var/log/NAME.log the log, /etc/ports who listens where, /etc/cron.d the jobs.
- /srv/NAME/current is a link to the release that runs. A manifest says what a release needs.
- Change only what is broken. Do not delete data in /var/lib, and do not restart services that are healthy.
`;
