/** The thread that holds what blocking calls have started. */
import { answerCalls } from "../../client/sync/answer-calls.js";
import type { HubStarted } from "../from-hub.js";
import type { Recipe, Started } from "../provider.js";
import { runRecipe } from "../run-recipe.js";
import type { StartAnswer } from "./start-sync.js";

const running = new Map<number, Started>();
let last = 0;

answerCalls(async (method, args) => {
  if (method === "start") return start(args[0] as Recipe);
  const id = args[0] as number;
  const started = running.get(id);
  if (!started) throw new TypeError("it was closed");
  if (method === "logs") return started.logs();
  running.delete(id);
  return started.close();
});

async function start(recipe: Recipe): Promise<StartAnswer> {
  const started = (await runRecipe(recipe)) as HubStarted;
  last++;
  running.set(last, started);
  return { id: last, url: started.url, token: started.token };
}
