const BOUNDARIES = {
  remote: "The server answered with an error",
  connection: "The connection failed",
  environment: "The author's code failed",
  provider: "A provider failed",
  publication: "Building or publishing failed",
  configuration: "The configuration is wrong",
};

/** Renders the page of all error codes, with a table for each boundary. */
export function renderErrors(errors) {
  const used = Object.keys(BOUNDARIES).filter((boundary) => rowsOf(errors, boundary).length > 0);
  const unknown = Object.values(errors).find(({ boundary }) => !(boundary in BOUNDARIES));
  if (unknown) throw new Error(`scripts/docs/errors.mjs has no title for the boundary ${unknown.boundary}`);
  return `# Errors

Every error of this package is an \`OpenEnvError\` with one of these codes. Generated from
\`packages/openenv/src/error-table.ts\` by \`npm run docs\`.

\`fault\` says who caused an error: mask \`infrastructure\` and \`environment\`; \`client\` is the request itself. It is the usual
cause of the code. A single error may have another one, so read the \`fault\` of the error
([where it is](../guide/sessions-that-survive.md#whose-fault-was-it)).
${used.map((boundary) => renderBoundary(BOUNDARIES[boundary], rowsOf(errors, boundary))).join("")}`;
}

function rowsOf(errors, wanted) {
  return Object.entries(errors).filter(([, { boundary }]) => boundary === wanted);
}

function renderBoundary(title, rows) {
  const lines = rows.map(
    ([code, { fault, meaning, remedy }]) => `| \`${code}\` | ${fault} | ${meaning} | ${remedy} |\n`,
  );
  return `\n## ${title}\n\n| code | fault | meaning | what to do |\n|---|---|---|---|\n${lines.join("")}`;
}
