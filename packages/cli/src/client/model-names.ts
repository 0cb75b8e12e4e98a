/** Hands out the names of classes. */
export interface ModelNames {
  /** A name as like the wanted one as can be; the same definition gets the same name again. */
  share(wanted: string, definition: string): { name: string; isNew: boolean };
}

/** Names that the modules of a client import or refer to, or that a language has. */
const TAKEN = [
  "Action Any Array BaseModel ConfigDict ConnectOptions Date Dict EnvClient False Field Literal Model None Object",
  "Observation Promise Record SchemaContract State StepResult True URL UUID",
  "CallToolAction CallToolObservation Generic ListToolsAction ListToolsObservation SyncEnvClient T",
  "RemoteError ToolCallError ToolCallResult TypeAdapter TypeVar UNSET",
]
  .join(" ")
  .split(" ");

export function createModelNames(taken: readonly string[]): ModelNames {
  const used = new Set([...TAKEN, ...taken]);
  const shared = new Map<string, string>();
  return {
    share(wanted, definition) {
      const known = shared.get(definition);
      if (known !== undefined) return { name: known, isNew: false };
      let name = wanted;
      for (let i = 2; used.has(name); i++) name = `${wanted}${i}`;
      used.add(name);
      shared.set(definition, name);
      return { name, isNew: true };
    },
  };
}

/** `last_info`, `last info` → `LastInfo`; always the name of a class, whatever the text. */
export function pascal(text: string): string {
  const words = text.split(/[^A-Za-z0-9]+/).filter(Boolean);
  const name = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
  return /^[A-Za-z]/.test(name) ? name.slice(0, 80) : `Type${name.slice(0, 80)}`;
}
