import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { ConfigError, EnvError } from "openenv-ts";
import type { Language } from "../models.js";
import { type Confinement, renderArguments } from "./bubblewrap.js";
import { type Cgroups, findCgroups } from "./cgroup.js";
import { Interpreter } from "./interpreter.js";
import { type Command, findJavaScript, findPython } from "./languages.js";
import type { Launch } from "./launch.js";
import type { Limits } from "./limits.js";

export interface SandboxOptions {
  limits: Limits;
  /** Name or path of the Python interpreter. */
  python: string;
  /** Name or path of bubblewrap. */
  bubblewrap: string;
  /** Run without bubblewrap where it does not work. */
  allowWeak: boolean;
}

/** What starts interpreters, after it was found out what this machine allows. */
export interface Sandbox {
  /** Empty with bubblewrap; else what programs are not kept from. */
  readonly weakness: string;
  /** @throws EnvError when the interpreter does not start. */
  start(language: Language): Promise<Interpreter>;
}

type Plan = Record<Language, Launch>;

/** @throws ConfigError when nothing safe works and nothing weaker is allowed. */
export async function prepareSandbox(options: SandboxOptions): Promise<Sandbox> {
  const commands = { python: await findPython(options.python), javascript: findJavaScript() };
  const cgroups = findCgroups(options.limits);
  const strong = await firstThatRuns(strongPlans(commands, options, await readHelp(options.bubblewrap)), cgroups);
  if (strong.plan) return createSandbox(strong.plan, cgroups, "");
  const reason = `${options.bubblewrap} cannot isolate programs here (${strong.reason})`;
  if (!options.allowWeak) throw new ConfigError(`${reason}. ${ADVICE}`);
  const weak = await firstThatRuns(weakPlans(commands, options), cgroups);
  if (!weak.plan) throw new ConfigError(`No interpreter starts: ${weak.reason}`);
  return createSandbox(weak.plan, cgroups, `${reason}. ${describeWeakness(weak.plan.python, cgroups)}`);
}

const ADVICE =
  "Install bubblewrap and allow user namespaces (see the README of this environment), or set ALLOW_WEAK_SANDBOX=1 to " +
  "run programs with time and memory limits only: they then can read the files of this user, use the network, look " +
  "into other processes of this user and signal them.";
const TRIAL = { python: "import decimal, json.tool\nprint(6 * 7)", javascript: "console.log(6 * 7)" };

function createSandbox(plan: Plan, cgroups: Cgroups | undefined, weakness: string): Sandbox {
  return {
    weakness,
    async start(language) {
      try {
        return await Interpreter.start(plan[language], cgroups);
      } catch (error) {
        const advice = "This step did not run: mask it. The server's log says why; look at its processes and memory.";
        throw new EnvError(`The ${language} interpreter did not start. ${advice}`, { cause: error });
      }
    },
  };
}

interface Found {
  plan?: Plan;
  reason: string;
}

/** Only a real start tells whether a kernel, a container and a user allow it. */
async function firstThatRuns(plans: Plan[], cgroups: Cgroups | undefined): Promise<Found> {
  const reasons = new Set<string>();
  for (const plan of plans) {
    const failures = await Promise.all([tryLaunch(plan.python, cgroups), tryLaunch(plan.javascript, cgroups)]);
    const failure = failures.find((text) => text !== "");
    if (failure === undefined) return { plan, reason: "" };
    reasons.add(failure);
  }
  return { reason: [...reasons].join("; ") };
}

async function tryLaunch(launch: Launch, cgroups: Cgroups | undefined): Promise<string> {
  let interpreter: Interpreter | undefined;
  try {
    interpreter = await Interpreter.start(launch, cgroups);
    const { stdout, stderr } = await interpreter.run(TRIAL[launch.language], AbortSignal.timeout(TRIAL_MS));
    return stdout === "42\n" ? "" : stderr || "it printed nothing";
  } catch (error) {
    return (error as Error).message;
  } finally {
    await interpreter?.close();
  }
}

const TRIAL_MS = 20_000;

/** Best first. */
function strongPlans(commands: Record<Language, Command>, options: SandboxOptions, help: string): Plan[] {
  const root = process.getuid?.() === 0;
  // Where a container hides parts of /proc, its own can neither be mounted nor be told to forbid namespaces.
  const ways: [Confinement, Launch["ownUid"]][] = [];
  for (const proc of [true, false]) {
    const lastUserNamespace = proc && help.includes("--disable-userns");
    ways.push([{ userNamespace: true, proc, lastUserNamespace }, root ? "before" : "none"]);
    // Where a file of the interpreter is closed to other uids, or user namespaces are off, root can still bind it.
    if (root) ways.push([{ userNamespace: false, proc, lastUserNamespace }, "inside"]);
  }
  return ways.map(([confinement, ownUid]) =>
    planOf(commands, (language, command) => ({
      command: options.bubblewrap,
      argumentsFor: (uid) => renderArguments(command, confinement, uid),
      contained: true,
      ownUid,
      language,
      limits: options.limits,
    })),
  );
}

function weakPlans(commands: Record<Language, Command>, options: SandboxOptions): Plan[] {
  const uids: Launch["ownUid"][] = process.getuid?.() === 0 ? ["before", "none"] : ["none"];
  return uids.map((ownUid) =>
    planOf(commands, (language, { file, argsOutside }) => ({
      command: file,
      argumentsFor: () => [...argsOutside],
      contained: false,
      ownUid,
      language,
      limits: options.limits,
    })),
  );
}

function planOf(commands: Record<Language, Command>, make: (language: Language, command: Command) => Launch): Plan {
  return { python: make("python", commands.python), javascript: make("javascript", commands.javascript) };
}

async function readHelp(bubblewrap: string): Promise<string> {
  try {
    return (await promisify(execFile)(bubblewrap, ["--help"])).stdout;
  } catch {
    return "";
  }
}

function describeWeakness({ ownUid }: Launch, cgroups: Cgroups | undefined): string {
  const own = process.getuid?.() === 0 ? "root" : "the server's own user";
  const user = ownUid === "none" ? own : "a user of their own";
  const bombs = ownUid === "none" && !cgroups ? "start processes without a limit, " : "";
  return (
    `Programs run WITHOUT a sandbox, as ${user}: they can use the network, read the files that user may read, ${bombs}` +
    "look into the processes it may look into and signal them. They keep time and memory limits only."
  );
}
