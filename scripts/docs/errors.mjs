const BOUNDARIES = {
  remote: "The server answered an error",
  connection: "The connection failed",
  environment: "The author's code failed",
  provider: "A provider failed",
  publication: "Building or publishing failed",
  configuration: "The configuration is wrong",
};

/** The page of every error code, a table for each boundary. */
export function renderErrors(errors) {
  const used = Object.keys(BOUNDARIES).filter((boundary) => rowsOf(errors, boundary).length > 0);
  const unknown = Object.values(errors).find(({ boundary }) => !(boundary in BOUNDARIES));
  if (unknown) throw new Error(`scripts/docs/errors.mjs has no title for the boundary ${unknown.boundary}`);
  return `# Errors

Every error of this package is an \`OpenEnvError\` with one of these codes. Generated from \`packages/openenv/src/errors.ts\` by
\`npm run docs\`.
${used.map((boundary) => renderBoundary(BOUNDARIES[boundary], rowsOf(errors, boundary))).join("")}`;
}

function rowsOf(errors, wanted) {
  return Object.entries(errors).filter(([, { boundary }]) => boundary === wanted);
}

function renderBoundary(title, rows) {
  const lines = rows.map(([code, { meaning, remedy }]) => `| \`${code}\` | ${meaning} | ${remedy} |\n`);
  return `\n## ${title}\n\n| code | meaning | what to do |\n|---|---|---|\n${lines.join("")}`;
}
