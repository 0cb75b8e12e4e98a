import { fakeModel } from "@langchain/core/testing";
import { AIMessage } from "langchain";
import type { Script } from "../script.js";

/** A model of LangChain.js that follows a script. */
export function scriptedModel(script: Script): ReturnType<typeof fakeModel> {
  const model = fakeModel();
  let calls = 0;
  for (const turn of script) {
    model.respondWithTools(turn.map(([name, args]) => ({ name, args, id: `call-${++calls}` })));
  }
  return model.respond(new AIMessage("I am done."));
}
