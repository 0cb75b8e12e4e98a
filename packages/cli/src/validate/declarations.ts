import type { Manifest } from "@openenv-ts/providers/manifest";
import {
  type CheckDefinition,
  demand,
  isObject,
  type JsonResponse,
  listTools,
  NotApplicable,
  show,
} from "openenv-ts/internal";

type Validation = NonNullable<Manifest["validation"]>;
type Ask = (path: string, body?: unknown) => Promise<JsonResponse>;

/** What the manifest says about tools and tasks, held against what the server says. */
export function declarationChecks({ capabilities }: Validation, ask: Ask): CheckDefinition[] {
  return [
    {
      id: "tool_declaration_accuracy",
      description: "the declared tools are those that POST /mcp lists",
      remedy: "Write the names of all tools into validation.capabilities.declared_tools.",
      run: async () => {
        const expected = [...capabilities.declared_tools].sort();
        const actual = (await listTools(ask)).map(({ name }) => name).sort();
        const same = expected.length === actual.length && expected.every((name, at) => name === actual[at]);
        demand(same, `declared are ${show(expected)}, there are ${show(actual)}`, { expected, actual });
      },
    },
    {
      id: "task_declaration_accuracy",
      description: "the declared numbers of tasks are those of the Task API",
      remedy: "Correct validation.capabilities.declared_task_count, or the tasks of the environment.",
      run: async () => {
        const { task_api, declared_task_count } = capabilities;
        const declared = Object.entries(declared_task_count);
        if (!task_api && declared.length === 0) throw new NotApplicable("the manifest declares no tasks");
        const { body } = await ask("/list_environments");
        const name = encodeURIComponent(String(Array.isArray(body) ? body[0] : ""));
        const { status } = await ask(`/${name}/splits`);
        demand(status === 200, `task_api is declared, but GET /${name}/splits answered ${status}`);
        for (const [split, count] of declared) {
          const { body: answer } = await ask(`/${name}/num_tasks`, { split });
          const found = isObject(answer) ? answer["num_tasks"] : undefined;
          demand(found === count, `the split ${split} is declared with ${count} tasks and has ${show(found)}`, {
            expected: count,
            actual: found ?? null,
          });
        }
      },
    },
  ];
}
