import type { DurablePart } from "#core/server/parts/durable.js";
import { Keeper } from "./resume/keeper.js";
import { EVENTS_ROUTE } from "./routes/events.js";
import { FORK_ROUTE } from "./routes/fork.js";

const part: DurablePart = {
  createKeeper: (...given) => new Keeper(...given),
  loadJournals: () => import("./journals-part.js"),
  routes: { fork: FORK_ROUTE, events: EVENTS_ROUTE },
};

export const { createKeeper, loadJournals, routes } = part;
