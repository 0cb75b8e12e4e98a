import type { Manifest } from "@openenv-ts/providers/manifest";
import { checker, isObject } from "openenv-ts/internal";

type Validation = NonNullable<Manifest["validation"]>;
export const TIMEOUT_MS = 60_000;

/** Compares the tools and tasks that the manifest declares with those of the server. */
export function declarationChecks({ capabilities }: Validation, url: string): checker.CheckDefinition[] {
  return [
    {
      id: "tool_declaration_accuracy",
      description: "the declared tools match those that POST /mcp lists",
      remedy: "List the names of all tools in validation.capabilities.declared_tools.",
      run: async () => {
        const expected = [...capabilities.declared_tools].sort();
        const actual = (await listTools(url)).sort();
        const same = expected.length === actual.length && expected.every((name, at) => name === actual[at]);
        checker.demand(
          same,
          `the manifest declares ${checker.show(expected)}, the server has ${checker.show(actual)}`,
          { expected, actual },
        );
      },
    },
    {
      id: "task_declaration_accuracy",
      description: "the declared task counts match those of the Task API",
      remedy: "Correct validation.capabilities.declared_task_count, or the tasks of the environment.",
      run: async () => {
        const { task_api, declared_task_count } = capabilities;
        const declared = Object.entries(declared_task_count);
        if (!task_api && declared.length === 0) throw new checker.NotApplicable("the manifest declares no tasks");
        const { body } = await ask(`${url}/list_environments`);
        const name = encodeURIComponent(String(Array.isArray(body) ? body[0] : ""));
        const { status } = await ask(`${url}/${name}/splits`);
        checker.demand(status === 200, `task_api is declared, but GET /${name}/splits answered ${status}`);
        for (const [split, count] of declared) {
          const { body: answer } = await ask(`${url}/${name}/num_tasks`, { split });
          const found = isObject(answer) ? answer["num_tasks"] : undefined;
          checker.demand(
            found === count,
            `the split ${split} is declared with ${count} tasks but has ${checker.show(found)}`,
            {
              expected: count,
              actual: found ?? null,
            },
          );
        }
      },
    },
  ];
}

/** GETs JSON, or POSTs `body`. */
export async function ask(
  url: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: unknown }> {
  const post = { method: "POST", body: JSON.stringify(body) };
  const init = { headers: { ...headers, ...(body !== undefined && { "content-type": "application/json" }) } };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const response = await fetch(url, { ...init, ...(body !== undefined && post), signal });
  return { status: response.status, body: await response.json().catch(() => undefined) };
}

async function listTools(url: string): Promise<string[]> {
  const { body } = await ask(`${url}/mcp`, { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });
  const result = isObject(body) ? body["result"] : undefined;
  const tools = isObject(result) ? result["tools"] : undefined;
  return Array.isArray(tools) ? tools.filter(isObject).map(({ name }) => String(name)) : [];
}
