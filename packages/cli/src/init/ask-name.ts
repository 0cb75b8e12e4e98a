import { isCancel, text } from "@clack/prompts";
import { parseName } from "../project/names.js";

/** What the terminal was asked; undefined when the user broke off. */
export async function askName(): Promise<string | undefined> {
  const answer = await text({
    message: "What is the environment called?",
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
