/** Assigns unique class names. */
export interface ModelNames {
  /** Returns the wanted name, with a number if it is taken. The same definition always gets the same name. */
  share(wanted: string, definition: string): { name: string; isNew: boolean };
}

/** Names that the modules of a client import or refer to, and names of the languages. */
const RESERVED = [
  "Action Any Array BaseModel ConfigDict ConnectOptions Date Dict EnvClient False Field Literal Model None Object",
  "Observation Promise Record SchemaContract State StepResult True URL UUID",
  "CallToolAction CallToolObservation Generic ListToolsAction ListToolsObservation SyncEnvClient T",
  "RemoteError ToolCallError ToolCallResult TypeAdapter TypeVar UNSET",
  "Annotated Decimal Key Partial RootModel Time TypeAliasType",
]
  .join(" ")
  .split(" ");

export function createModelNames(taken: readonly string[]): ModelNames {
  const used = new Set([...RESERVED, ...taken]);
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

/** `last_info`, `last info` → `LastInfo`. Returns a valid class name for any text. */
export function pascal(text: string): string {
  const words = text.split(/[^A-Za-z0-9]+/).filter(Boolean);
  const name = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
  return /^[A-Za-z]/.test(name) ? name.slice(0, 80) : `Type${name.slice(0, 80)}`;
}
