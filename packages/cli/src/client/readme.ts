import type { Names } from "../project/names.js";
import { actionClasses, type PythonBase } from "./python/render-python.js";
import type { ClientTypes } from "./types.js";

export function renderPythonReadme(
  { kebab, module, prefix, title }: Names,
  { action }: ClientTypes,
  base: PythonBase,
): string {
  const [, example = action.name] = actionClasses(action);
  const open = base === "openenv-ts" ? ".connect(" : "(base_url=";
  const blocking = base === "openenv-ts" ? "" : ".sync()";
  return `# ${title}: client for Python

\`\`\`sh
pip install ./${kebab}-python-client
\`\`\`

\`\`\`python
from ${module} import ${[example, `${prefix}Env`].sort().join(", ")}

with ${prefix}Env${open}"http://localhost:8000")${blocking} as env:
    result = env.reset()
    # result = env.step(${example}(...))
    print(result.observation)
\`\`\`
`;
}

export function renderTypeScriptReadme({ kebab, prefix, title }: Names): string {
  return `# ${title}: client for TypeScript

\`\`\`sh
npm install ./${kebab}-client
\`\`\`

\`\`\`ts
import { ${prefix}Env } from "${kebab}-client";

await using env = await ${prefix}Env.connect("http://localhost:8000");
const { observation } = await env.reset();
console.log(observation);
\`\`\`
`;
}
