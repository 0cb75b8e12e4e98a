import type { Names } from "../project/names.js";

export function renderPythonReadme({ kebab, module, prefix, title }: Names): string {
  return `# ${title}: client for Python

\`\`\`sh
pip install ./${kebab}-python-client
\`\`\`

\`\`\`python
from ${module} import ${prefix}Action, ${prefix}Env

with ${prefix}Env(base_url="http://localhost:8000").sync() as env:
    result = env.reset()
    # result = env.step(${prefix}Action(...))
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
