import { isCancel, text } from "@clack/prompts";
import { parseName } from "../project/names.js";

/** Prompts for a name on the terminal; undefined when the user cancels. */
export async function askName(): Promise<string | undefined> {
  const answer = await text({
    message: "What is the name of the environment?",
    placeholder: "my-env",
    validate: (value) => {
      try {
        parseName(value ?? "");
        return undefined;
      } catch (error) {
        return (error as Error).message;
      }
    },
  });
  return isCancel(answer) ? undefined : answer;
}
