import type { Cgroups } from "./cgroup.js";
import type { SandboxLimits } from "./limits.js";
import type { LanguagePlan } from "./plans.js";

const MB = 1024 * 1024;

/** What no cgroup bounds here. */
export function listMissing(cgroups: Cgroups | undefined): string[] {
  return (["memory", "processes"] as const).filter((resource) => !cgroups?.bounds.has(resource));
}

/** One paragraph for the log of the server, empty when everything is bounded. */
export function renderWarning(plan: LanguagePlan, cgroups: Cgroups | undefined, limits: SandboxLimits): string {
  const unbounded = listUnbounded(plan, cgroups, limits);
  const sentences = [
    ...(plan.contained ? [] : [describeWeakness(plan)]),
    ...(unbounded.length > 0 ? [`Unbounded here: ${unbounded.join("; ")}.`] : []),
    ...(listMissing(cgroups).length > 0 ? [ADVICE] : []),
  ];
  return sentences.join(" ");
}

const ADVICE =
  "Delegate a cgroup to the server to bound memory and processes; OPENENV_SANDBOX_REQUIRE=cgroups refuses to start " +
  "without one.";

function listUnbounded(
  plan: LanguagePlan,
  cgroups: Cgroups | undefined,
  { memoryBytes, processes }: SandboxLimits,
): string[] {
  const missing = listMissing(cgroups);
  // Without a uid or a namespace, the limit on processes would count those of others.
  const counted = plan.contained || plan.ownUid;
  return [
    ...(missing.includes("memory")
      ? [
          `the memory of all programs together (each process may take ${memoryBytes / MB} MB) and what the kernel holds for them (pipes, sockets)`,
        ]
      : []),
    ...(missing.includes("processes")
      ? [counted ? `the processes of all programs together (each may start ${processes})` : "the number of processes"]
      : []),
    ...(plan.countedFiles
      ? []
      : [plan.contained ? "the number of temporary files" : "the temporary files, on the disk"]),
  ];
}

function describeWeakness({ ownUid, filtered }: LanguagePlan): string {
  const own = process.getuid?.() === 0 ? "root" : "the server's own user";
  const rest = filtered
    ? ""
    : ", use the network, make namespaces and trace processes, because no filter of system calls can be installed";
  return (
    `Programs run WITHOUT a sandbox, as ${ownUid ? "a user of their own" : own}: they can read the files that user ` +
    `may read, signal its processes and read their variables${rest}. ` +
    (filtered ? "A filter of system calls keeps them from the network and from namespaces." : "")
  ).trim();
}
