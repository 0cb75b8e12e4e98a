import type { Manifest } from "@openenv-ts/providers/manifest";
import { checker } from "openenv-ts/internal";
import { MAX_PROCESSES, USER_ID } from "./container.js";
import { type Inside, lookInside } from "./look-inside.js";

type Validation = NonNullable<Manifest["validation"]>;

const MB = 1024 * 1024;

/** Checks of the limits that the kernel enforces on the container. */
export function containmentChecks(
  container: string,
  { resources }: Validation,
  signal: AbortSignal,
): checker.CheckDefinition[] {
  return [
    {
      id: "host_containment",
      description: "its processes have no capabilities, and no mount from the host is writable",
      remedy: "Declare no VOLUME in the Dockerfile; keep temporary files in /tmp.",
      run: async (note) => {
        const { processes, writableMounts } = await look(container, signal);
        const strong = processes.filter(
          ({ uids, capabilities, noNewPrivileges }) =>
            !noNewPrivileges || uids.some((uid) => uid !== USER_ID) || capabilities.some((mask) => !/^0+$/.test(mask)),
        );
        const problems = [
          ...(strong.length > 0
            ? [
                `${strong.length} of ${processes.length} processes run as another user, or have or may gain capabilities`,
              ]
            : []),
          ...writableMounts.map((place) => `the mount ${place} is from the host and is writable`),
        ];
        checker.demand(problems.length === 0, problems.join("; "));
        note({ actual: { processes: processes.length, writable_mounts: writableMounts } });
      },
    },
    {
      id: "resource_bounds",
      description: "the kernel limits memory, swap, CPU, processes and /tmp as declared",
      run: async (note) => {
        const { limits } = await look(container, signal);
        const { memory_mb, cpu, disk_mb } = resources;
        const declared = { memory: memory_mb * MB, swap: 0, cpus: cpu, processes: MAX_PROCESSES, tmp: disk_mb * MB };
        const open = (Object.keys(declared) as (keyof typeof declared)[]).filter((key) => limits[key] > declared[key]);
        // The limits are set at every start. An engine that does not apply them is not a fault of the package.
        if (open.length > 0) throw new checker.CheckSkip(`this Docker engine does not limit ${open.join(", ")}`);
        note({ expected: declared, actual: limits });
      },
    },
  ];
}

/** Checks the resources that the episodes have used. */
export function envelopeCheck(
  container: string,
  { resources }: Validation,
  signal: AbortSignal,
): checker.CheckDefinition {
  return {
    id: "resource_envelope",
    description: "the episodes used no more resources than declared",
    remedy: "Declare more in validation.resources, or reduce the usage.",
    run: async (note) => {
      const { usage } = await look(container, signal);
      const { memory_mb, disk_mb } = resources;
      const { peakMemory, tmp, oomKills } = usage;
      if (Number.isNaN(oomKills) || Number.isNaN(peakMemory))
        throw new checker.CheckSkip("this kernel does not measure it");
      const actual = { memory_mb: Math.ceil(peakMemory / MB), disk_mb: Math.ceil(tmp / MB), oom_kills: oomKills };
      const expected = { memory_mb, disk_mb, oom_kills: 0 };
      const facts = { expected, actual };
      checker.demand(oomKills === 0, `the kernel killed ${oomKills} processes that ran out of memory`, facts);
      checker.demand(peakMemory <= memory_mb * MB, `the episodes used ${actual.memory_mb} MB of memory`, facts);
      checker.demand(tmp <= disk_mb * MB, `the episodes used ${actual.disk_mb} MB of /tmp`, facts);
      note(facts);
    },
  };
}

async function look(container: string, signal: AbortSignal): Promise<Inside> {
  const inside = await lookInside(container, signal);
  if (inside !== undefined) return inside;
  throw new checker.CheckSkip("not measured: the container has exited, or its image has no node");
}
