import { type Case, listBroken, makeCase } from "../cases.js";
import { readConf } from "../files.js";
import { tasks } from "../tasks.js";

interface Place {
  split: string;
  index: number;
}
interface State {
  services: { healthy: boolean }[];
  changed: string[];
  needless_restarts: number;
  resolved: boolean;
}

/** Undoes what broke: one call for each step. */
export function oracle(task: Place, { step_count }: { step_count: number }) {
  const commands = listCommands(caseOf(task));
  if (step_count > commands.length) return undefined;
  const command = commands[step_count];
  const given = command === undefined ? { summary: "What broke is as it was before." } : { command };
  return { type: "call_tool", tool_name: command === undefined ? "resolve" : "bash", arguments: given };
}

/** True if the final state has the repair and nothing else. */
export function solved(task: Place, { services, changed, needless_restarts, resolved }: State): boolean {
  const isRepaired = JSON.stringify(changed) === JSON.stringify(listBroken(caseOf(task)));
  return resolved && isRepaired && needless_restarts === 0 && services.every(({ healthy }) => healthy);
}

export function caseOf({ split, index }: Place): Case {
  const { seed, kind } = tasks.get(split, index);
  return makeCase(seed, kind);
}

/** What repairs the files, then what restarts the service to which they belong. */
export function listCommands(made: Case): string[] {
  const { world, healthy } = made;
  const broken = listBroken(made);
  const repairs = broken.map((path) => {
    const [now, good] = [world.files[path], healthy[path]];
    if (good === undefined) return `rm ${path}`;
    if (good.kind === "link") return `ln -sfn ${good.data} ${path}`;
    if (good.mode !== now?.mode) return `chmod ${(good.mode & 0o777).toString(8)} ${path}`;
    const [is, was] = [readConf(world.files, path), readConf(healthy, path)];
    const key = Object.keys(was).find((one) => was[one] !== is[one]) ?? "";
    return `sed -i 's|^${key} = .*|${key} = ${was[key]}|' ${path}`;
  });
  const owner = world.services.find(({ name }) => broken[0]?.split(/[/.]/).includes(name));
  return [...repairs, `svc restart ${owner?.name}`];
}
