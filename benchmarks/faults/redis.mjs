import { hasPython, PYTHON, TYPESCRIPT } from "./disturbed/clients.mjs";
import { playDisturbed } from "./disturbed/disturbed.mjs";
import { killRedis } from "./disturbed/processes.mjs";
import { findRedis, startRedis } from "./disturbed/redis.mjs";

export const title = "faults and a journal in Redis that is killed, stopped and suspended";

export const run = async (bench) => {
  const { faults, seed, quick, missing } = bench;
  const redis = findRedis();
  if (redis.missing) return missing.push(`Not measured, the journal in Redis: ${redis.missing}.`) && [];
  const rows = [];
  for (const clients of hasPython(bench) ? [TYPESCRIPT, PYTHON] : [TYPESCRIPT]) {
    const played = playDisturbed({
      ...clients,
      id: `redis-${clients.id}`,
      who: `${clients.who}, journal in Redis`,
      faults: Math.ceil(faults / 4),
      seed,
      quick,
      startJournal: startRedis,
      interruptions: killRedis,
    });
    rows.push(...(await played));
  }
  return rows;
};
