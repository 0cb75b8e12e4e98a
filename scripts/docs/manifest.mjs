/** The page of every field of openenv.yaml, from its schema. */
export function renderManifest(schema) {
  return `# openenv.yaml

The manifest of an environment. Generated from \`packages/providers/src/manifest\` by \`npm run docs\`. Other fields at the top level and
directly in \`validation\` are let through, as the Python package does.

| field | is | default |
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

/** Without what makes a field optional, and with what it is when it is left out. */
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
