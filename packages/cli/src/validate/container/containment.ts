import type { Manifest } from "@openenv-ts/providers/manifest";
import { type CheckDefinition, CheckSkip, demand } from "openenv-ts/internal";
import { MOST_PROCESSES, USER_ID } from "./container.js";
import { type Inside, lookInside } from "./look-inside.js";

type Validation = NonNullable<Manifest["validation"]>;

const MB = 1024 * 1024;

/** What the kernel holds the container of this name to. */
export function containmentChecks(
  container: string,
  { resources }: Validation,
  signal: AbortSignal,
): CheckDefinition[] {
  return [
    {
      id: "host_containment",
      description: "its processes have no capabilities, and no mount on a disk of the machine is writable",
      remedy: "Declare no VOLUME in the Dockerfile; keep temporary files in /tmp.",
      run: async (note) => {
        const { processes, writableMounts } = await look(container, signal);
        const strong = processes.filter(
          ({ uids, capabilities, noNewPrivileges }) =>
            !noNewPrivileges || uids.some((uid) => uid !== USER_ID) || capabilities.some((mask) => !/^0+$/.test(mask)),
        );
        const problems = [
          ...(strong.length > 0
            ? [`${strong.length} of ${processes.length} processes have another user, or have or may gain capabilities`]
            : []),
          ...writableMounts.map((place) => `the mount ${place} is on a disk of the machine and is writable`),
        ];
        demand(problems.length === 0, problems.join("; "));
        note({ actual: { processes: processes.length, writable_mounts: writableMounts } });
      },
    },
    {
      id: "resource_bounds",
      description: "the kernel bounds memory, swap, CPU, processes and /tmp as declared",
      run: async (note) => {
        const { limits } = await look(container, signal);
        const { memory_mb, cpu, disk_mb } = resources;
        const declared = { memory: memory_mb * MB, swap: 0, cpus: cpu, processes: MOST_PROCESSES, tmp: disk_mb * MB };
        const open = (Object.keys(declared) as (keyof typeof declared)[]).filter((key) => limits[key] > declared[key]);
        // The limits are set with every start: an engine that does not apply them says nothing about the package.
        if (open.length > 0) throw new CheckSkip(`the Docker engine here does not bound ${open.join(", ")}`);
        note({ expected: declared, actual: limits });
      },
    },
  ];
}

/** What the episodes used that were played before. */
export function envelopeCheck(container: string, { resources }: Validation, signal: AbortSignal): CheckDefinition {
  return {
    id: "resource_envelope",
    description: "the episodes that were played used no more than is declared",
    remedy: "Declare more in validation.resources, or use less.",
    run: async (note) => {
      const { usage } = await look(container, signal);
      const { memory_mb, disk_mb } = resources;
      const { peakMemory, tmp, oomKills } = usage;
      if (Number.isNaN(oomKills) || Number.isNaN(peakMemory)) throw new CheckSkip("the kernel here does not count it");
      const actual = { memory_mb: Math.ceil(peakMemory / MB), disk_mb: Math.ceil(tmp / MB), oom_kills: oomKills };
      const expected = { memory_mb, disk_mb, oom_kills: 0 };
      const facts = { expected, actual };
      demand(oomKills === 0, `the kernel ended ${oomKills} processes because memory ran out`, facts);
      demand(peakMemory <= memory_mb * MB, `${actual.memory_mb} MB of memory were used`, facts);
      demand(tmp <= disk_mb * MB, `${actual.disk_mb} MB of /tmp were used`, facts);
      note(facts);
    },
  };
}

async function look(container: string, signal: AbortSignal): Promise<Inside> {
  const inside = await lookInside(container, signal);
  if (inside !== undefined) return inside;
  throw new CheckSkip("it could not be read: the container has ended, or its image has no node");
}
