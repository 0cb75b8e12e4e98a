/** Renders the page of all fields of openenv.yaml from its schema. */
export function renderManifest(schema) {
  return `# openenv.yaml

The manifest of an environment. Generated from \`packages/providers/src/manifest\` by \`npm run docs\`. Other fields at the top level and
directly in \`validation\` are ignored: the commands warn of each, with the nearest name.

A version needs no quotes, and a port may have them. The manifest of a Python environment may also have a mapping as
\`runtime\` or \`environment\`, and \`entry_point\` or the path of a file for \`app\`: \`openenv serve\` says how to
[serve it](../guide/python-environments.md).

| field | description | default |
|---|---|---|
${rowsOf(schema, "").join("")}`;
}

function rowsOf(schema, prefix) {
  return Object.entries(schema.shape).flatMap(([name, field]) => {
    const { inner, value, optional } = unwrap(field);
    const path = `${prefix}${name}`;
    const given = value === undefined ? (optional ? "" : "**required**") : `\`${JSON.stringify(value)}\``;
    const row = `| \`${path}\` | ${describe(field, inner)} | ${given} |\n`;
    return [row, ...(inner.def.type === "object" ? rowsOf(inner, `${path}.`) : [])];
  });
}

function describe(field, inner) {
  const choices = inner.def.type === "enum" ? inner.options : [];
  const text = field.description ?? inner.description ?? "";
  return choices.length > 1 ? `${text}: ${choices.map((choice) => `\`${choice}\``).join(", ")}` : text;
}

/** The inner schema of a field, its default, and whether it is optional. */
function unwrap(field) {
  let inner = field;
  let value;
  let optional = false;
  for (;;) {
    if (inner.def.type === "default") value = inner.def.defaultValue;
    else if (["optional", "nullable"].includes(inner.def.type)) optional = true;
    else return { inner, value, optional };
    inner = inner.unwrap();
  }
}
