/** Hands out the names of classes, each once. */
export interface ModelNames {
  /** The name, or one like it where it is taken. */
  take(wanted: string): string;
  /** As `take`, but the same definition gets the same name again. */
  share(wanted: string, definition: string): { name: string; isNew: boolean };
}

/** Names that the modules of a client import, or that a language has. */
const TAKEN = [
  "Action Any BaseModel ConfigDict Date Dict EnvClient False Field Literal Model None Object Observation Record State",
  "StepResult True UUID",
]
  .join(" ")
  .split(" ");

export function createModelNames(taken: readonly string[]): ModelNames {
  const used = new Set([...TAKEN, ...taken]);
  const shared = new Map<string, string>();
  const take = (wanted: string): string => {
    let name = wanted;
    for (let i = 2; used.has(name); i++) name = `${wanted}${i}`;
    used.add(name);
    return name;
  };
  return {
    take,
    share(wanted, definition) {
      const key = `${wanted} ${definition}`;
      const known = shared.get(key);
      if (known !== undefined) return { name: known, isNew: false };
      const name = take(wanted);
      shared.set(key, name);
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
