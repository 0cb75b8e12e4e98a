import type { Language } from "../models.js";
import { type Confinement, listScratch, renderArguments, type Scratch } from "./bubblewrap.js";
import { renderFilter } from "./filter/filter.js";
import { type Confiner, makeConfiner, type SandboxCommand } from "./languages.js";
import type { SandboxLaunch } from "./launch.js";
import type { SandboxLimits } from "./limits.js";

/** One way to start the interpreters. */
export interface LanguagePlan {
  readonly launches: Readonly<Record<Language, SandboxLaunch>>;
  readonly contained: boolean;
  readonly filtered: boolean;
  readonly countedFiles: boolean;
  /** What the programs run as has a uid that nothing else has. */
  readonly ownUid: boolean;
}

export interface Means {
  readonly commands: Readonly<Record<Language, SandboxCommand>>;
  readonly limits: SandboxLimits;
  /** Name or path of bubblewrap. */
  readonly bubblewrap: string;
}

/** Ways with bubblewrap, best first; none where this machine's architecture has no filter. */
export function listStrongPlans({ commands, limits, bubblewrap }: Means): LanguagePlan[] {
  const filter = renderFilter(process.arch, { unixSockets: true });
  const confiner = makeConfiner(commands.python);
  if (!filter) return [];
  return listConfinements().map(([confinement, ownUid]) => {
    const make = (language: Language): SandboxLaunch => {
      const reads = [...new Set([...commands[language].reads, ...confiner.reads])];
      const command = { ...commands[language], reads };
      const before = renderArguments(command, confinement);
      return {
        command: bubblewrap,
        argumentsFor: (uid) => {
          const entry = { scratch: listScratch(confinement), uid: ownUid === "inside" ? uid : undefined, filter };
          return [...before, confiner.file, ...renderEntry(confiner, entry), command.file, ...command.args];
        },
        ...{ contained: true, ownUid, language, limits },
      };
    };
    const { countedFiles } = confinement;
    return { launches: both(make), contained: true, filtered: true, countedFiles, ownUid: ownUid !== "none" };
  });
}

/** Ways without it. The last ones are for machines that know no such filter. */
export function listWeakPlans({ commands, limits }: Means): LanguagePlan[] {
  const confiner = makeConfiner(commands.python);
  const uids: SandboxLaunch["ownUid"][] = process.getuid?.() === 0 ? ["before", "none"] : ["none"];
  const filters = [renderFilter(process.arch, { unixSockets: false }), undefined];
  return filters.flatMap((filter) =>
    uids.map((ownUid) => {
      const make = (language: Language): SandboxLaunch => {
        const { file, argsOutside } = commands[language];
        const entry = renderEntry(confiner, { scratch: [], filter });
        return {
          command: confiner.file,
          argumentsFor: () => [...entry, file, ...argsOutside],
          ...{ contained: false, ownUid, language, limits },
        };
      };
      const filtered = filter !== undefined;
      return { launches: both(make), contained: false, filtered, countedFiles: false, ownUid: ownUid !== "none" };
    }),
  );
}

/** Where a container hides parts of /proc, a new one cannot be mounted. */
function listConfinements(): [Confinement, SandboxLaunch["ownUid"]][] {
  const root = process.getuid?.() === 0;
  const ways: [Confinement, SandboxLaunch["ownUid"]][] = [];
  for (const countedFiles of [true, false]) {
    for (const proc of [true, false]) {
      ways.push([{ userNamespace: true, proc, countedFiles }, root ? "before" : "none"]);
      // Where a file of the interpreter is closed to other uids, or user namespaces are off, root can still bind it.
      if (root) ways.push([{ userNamespace: false, proc, countedFiles }, "inside"]);
    }
  }
  return ways;
}

interface Entry {
  scratch: readonly Scratch[];
  /** The user it becomes. */
  uid?: number | undefined;
  filter: Buffer | undefined;
}

/** The arguments of the confiner up to the command it becomes. */
function renderEntry({ args }: Confiner, { scratch, uid, filter }: Entry): string[] {
  return [...args, JSON.stringify({ scratch, uid: uid ?? null, filter: filter?.toString("base64") ?? null })];
}

function both(make: (language: Language) => SandboxLaunch): LanguagePlan["launches"] {
  return { python: make("python"), javascript: make("javascript") };
}
