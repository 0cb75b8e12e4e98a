import { crewsOf } from "../faults/crews.mjs";
import { playDisturbed } from "../faults/disturbed.mjs";
import { killRedis } from "../faults/processes.mjs";
import { findRedis, startRedis } from "../faults/redis.mjs";
import { CREWS } from "./faults.mjs";

export const title = "faults and a journal in Redis that is killed, stopped and suspended";

export const run = async ({ faults, seed, missing }) => {
  const redis = findRedis();
  if (redis.missing) return missing.push(`Not measured, the journal in Redis: ${redis.missing}.`) && [];
  return playDisturbed({
    ...{ id: "redis", who: "TypeScript clients, journal in Redis", clients: crewsOf(CREWS), seed },
    faults: Math.ceil(faults / 4),
    startJournal: startRedis,
    interruptions: killRedis,
  });
};
