import { ConfigError, EnvironmentError } from "openenv-ts";
import type { Language } from "../models.js";
import { type Cgroups, findCgroups } from "./cgroup.js";
import { Interpreter } from "./interpreter.js";
import { findJavaScript, findPython } from "./languages.js";
import type { SandboxLaunch } from "./launch.js";
import type { SandboxLimits, TotalLimits } from "./limits.js";
import { type LanguagePlan, listStrongPlans, listWeakPlans } from "./plans.js";
import { listMissing, renderWarning } from "./warning.js";

export interface SandboxOptions {
  limits: SandboxLimits;
  total: TotalLimits;
  /** What processes that share `total` have in common; by default this process shares it with no other. */
  group?: string;
  /** Name or path of the Python interpreter. */
  python: string;
  /** Name or path of bubblewrap. */
  bubblewrap: string;
  /** Run without bubblewrap where it does not work. */
  allowWeak: boolean;
  /** Do not run where cgroups cannot bound memory and processes. */
  requireCgroups: boolean;
}

/** What starts interpreters, after it was found out what this machine allows. */
export interface Sandbox {
  /** What programs are not kept from and what nothing bounds; empty when there is nothing to say. */
  readonly warning: string;
  /** @throws EnvironmentError when the interpreter does not start. */
  start(language: Language): Promise<Interpreter>;
}

/** @throws ConfigError when nothing safe works and nothing weaker is allowed. */
export async function prepareSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { limits, total, bubblewrap, allowWeak } = options;
  const cgroups = await findCgroups(limits, total, options.group);
  const missing = listMissing(cgroups);
  if (options.requireCgroups && missing.length > 0) {
    throw new ConfigError(
      `OPENENV_SANDBOX_REQUIRE=cgroups: no cgroup can be made here that bounds ${missing.join(" and ")}. Delegate a ` +
        "cgroup with the controllers memory and pids to the server, or unset the variable.",
    );
  }
  const means = {
    commands: { python: await findPython(options.python), javascript: findJavaScript() },
    limits,
    bubblewrap,
  };
  const strong = await firstThatRuns(listStrongPlans(means), cgroups);
  if (strong.plan) return createSandbox(strong.plan, cgroups, renderWarning(strong.plan, cgroups, limits));
  const reason = `${bubblewrap} cannot isolate programs here (${strong.reason || NO_FILTER})`;
  if (!allowWeak) throw new ConfigError(`${reason}. ${ADVICE}`);
  const weak = await firstThatRuns(listWeakPlans(means), cgroups);
  if (!weak.plan) throw new ConfigError(`No interpreter starts: ${weak.reason}`);
  return createSandbox(weak.plan, cgroups, `${reason}. ${renderWarning(weak.plan, cgroups, limits)}`);
}

const NO_FILTER = `there is no filter of system calls for ${process.arch}, only for x64 and arm64`;
const ADVICE =
  "Install bubblewrap and allow user namespaces (see the README of this environment), or set ALLOW_WEAK_SANDBOX=1 to " +
  "run programs with limits and a filter of system calls only: they then can read the files of this user and signal " +
  "its other processes.";
const TRIAL = { python: "import decimal, json.tool\nprint(6 * 7)", javascript: "console.log(6 * 7)" };

function createSandbox({ launches }: LanguagePlan, cgroups: Cgroups | undefined, warning: string): Sandbox {
  return {
    warning,
    async start(language) {
      try {
        return await Interpreter.start(launches[language], cgroups);
      } catch (error) {
        const advice = "This step did not run: mask it. The server's log says why; look at its processes and memory.";
        throw new EnvironmentError(`The ${language} interpreter did not start. ${advice}`, { cause: error });
      }
    },
  };
}

interface Found {
  plan?: LanguagePlan;
  reason: string;
}

/** Only a real start tells whether a kernel, a container and a user allow it. */
async function firstThatRuns(plans: LanguagePlan[], cgroups: Cgroups | undefined): Promise<Found> {
  const reasons = new Set<string>();
  for (const plan of plans) {
    const { python, javascript } = plan.launches;
    const failures = await Promise.all([tryLaunch(python, cgroups), tryLaunch(javascript, cgroups)]);
    const failure = failures.find((text) => text !== "");
    if (failure === undefined) return { plan, reason: "" };
    reasons.add(failure);
  }
  return { reason: [...reasons].join("; ") };
}

async function tryLaunch(launch: SandboxLaunch, cgroups: Cgroups | undefined): Promise<string> {
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
