/** The variable with {@link IsolateResources} as JSON. */
export const RESOURCES = "OPENENV_RESOURCES";

export interface IsolateResources {
  /** The resources of the scope `server`. */
  values: Record<string, unknown>;
  /** Spares are kept for sessions to come. */
  spares: boolean;
}

/** The environment variables of an isolate: those of this process without the server's tokens, and {@link RESOURCES}. */
export function isolateVariables(resources: string): NodeJS.ProcessEnv {
  const variables: NodeJS.ProcessEnv = { ...process.env, [RESOURCES]: resources };
  for (const name of Object.keys(variables)) if (SERVER_TOKEN.test(name)) delete variables[name];
  return variables;
}

const SERVER_TOKEN = /^OPENENV_(OPERATOR|ORCHESTRATOR|CLIENT)_TOKEN/i;
