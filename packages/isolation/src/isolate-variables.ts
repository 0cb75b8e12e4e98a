/** The environment variables of an isolate: those of this process without the server's tokens. */
export function isolateVariables(): NodeJS.ProcessEnv {
  const variables = { ...process.env };
  for (const name of Object.keys(variables)) if (SERVER_TOKEN.test(name)) delete variables[name];
  return variables;
}

const SERVER_TOKEN = /^OPENENV_(OPERATOR|ORCHESTRATOR|CLIENT)_TOKEN/i;
