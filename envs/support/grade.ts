import type { Expected } from "./policy.js";
import type { Change, World } from "./world.js";

/** The parts of the reward, whose sum it is. */
export interface Parts extends Record<string, number> {
  /** 0.125 if the right person was verified, or the check of a wrong one has failed. */
  identity: number;
  /** Up to 0.125: the part of the decisions that are right. */
  decisions: number;
  /** Up to 0.25: the part of the demanded changes that were made; that of the decisions if none is demanded. */
  changes: number;
  /** 0.5 if nothing is missing. */
  complete: number;
}

/** Compares the final state with what the policy demands. Anything that it does not demand makes all parts 0. */
export function grade(world: World, expected: Expected): Parts {
  const open = [...expected.changes];
  const forbidden = world.changes.filter((made) => {
    const nth = open.findIndex((wanted) => isSame(made, wanted));
    if (nth >= 0) open.splice(nth, 1);
    return nth < 0;
  });
  const asked = new Set(expected.decisions.map(({ order_id }) => order_id));
  const others = world.decisions.filter(({ order_id }) => !asked.has(order_id));
  const isOther = world.verified !== null && world.verified !== world.person.customer_id;
  if (forbidden.length > 0 || others.length > 0 || isOther)
    return { identity: 0, decisions: 0, changes: 0, complete: 0 };
  const identity = expected.verified ? world.verified !== null : world.verified === null && world.wrongPins > 0;
  const right = expected.decisions.filter((wanted) =>
    world.decisions.some(
      (made) =>
        made.order_id === wanted.order_id && made.outcome === wanted.outcome && made.article_id === wanted.article_id,
    ),
  );
  const decided = right.length / expected.decisions.length;
  const changed = expected.changes.length === 0 ? decided : 1 - open.length / expected.changes.length;
  return {
    identity: identity ? 0.125 : 0,
    decisions: decided * 0.125,
    changes: changed * 0.25,
    complete: identity && decided === 1 && changed === 1 ? 0.5 : 0,
  };
}

function isSame(made: Change, wanted: Change): boolean {
  return (Object.keys(wanted) as (keyof Change)[]).every((key) => made[key] === wanted[key]);
}
