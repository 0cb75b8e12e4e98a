import { type Case, listBroken } from "./cases.js";
import { listChanged } from "./files.js";
import { pass } from "./shell.js";
import { isHealthy, start, type World } from "./world.js";

/** The parts of the reward, whose sum it is. All are 0 unless all services are healthy and no data is lost. */
export interface Parts extends Record<string, number> {
  /** 0.5: all services are healthy. */
  healthy: number;
  /** 0.3: they still are after some minutes and a restart of all. */
  lasting: number;
  /** Up to 0.2, less 0.05 for each file that was changed, and each healthy service that was restarted, without need. */
  careful: number;
}

export const NOTHING: Parts = { healthy: 0, lasting: 0, careful: 0 };
const MINUTES = 5;

/** Grades the final state of a host. `made` is the case as it was at the beginning. */
export async function grade(world: World, made: Case): Promise<Parts> {
  const changed = listChanged(made.world.files, world.files);
  if (!isHealthy(world) || changed.some((path) => path.startsWith("/var/lib/"))) return NOTHING;
  const broken = listBroken(made);
  const harm = world.needless + changed.filter((path) => !broken.includes(path)).length;
  const later = structuredClone(world);
  // A job of the agent is no repair: it may undo the damage each minute, or keep another job from its turn.
  for (const path of Object.keys(later.files))
    if (path.startsWith("/etc/cron.d/") && !made.world.files[path]) delete later.files[path];
  for (let minute = 0; minute < MINUTES; minute++) await pass(later);
  const stays = isHealthy(later);
  for (const service of later.services) service.pid = null;
  for (const service of later.services) start(later, service);
  return { healthy: 0.5, lasting: stays && isHealthy(later) ? 0.3 : 0, careful: Math.max(0, 4 - harm) / 20 };
}
