/** The files of a host as plain JSON, by path. */
export interface Entry {
  kind: "file" | "folder" | "link";
  /** The bytes of a file, each as one character; the target of a link. */
  data: string;
  mode: number;
  /** Milliseconds since 1970. */
  time: number;
}
export type Files = Record<string, Entry>;

export function put(files: Files, path: string, data: string, more: Partial<Entry> = {}): void {
  files[path] = { kind: "file", mode: 0o644, time: 0, ...files[path], data, ...more };
}

/** The keys of `key = value` lines. */
export function readConf(files: Files, path: string): Record<string, string> {
  const { kind, data } = files[path] ?? {};
  const lines = kind === "file" && data ? [...data.matchAll(/^[ \t]*([\w.]+)[ \t]*=[ \t]*(.*?)\s*$/gm)] : [];
  return Object.fromEntries(lines.map(([, key = "", value = ""]) => [key, value]));
}

export function setKey(files: Files, path: string, key: string, value: string | number): void {
  const line = new RegExp(`^${key.replaceAll(".", "\\.")} = .*$`, "m");
  put(files, path, files[path]?.data.replace(line, `${key} = ${value}`) ?? "");
}

/** Logs that services write in normal operation. */
export const isLog = (path: string): boolean => /^\/var\/log\/[^.]*\.log$/.test(path);

/** Files of `before` that are changed or gone in `after`. A log may have grown; /tmp and folders do not matter. */
export function listChanged(before: Files, after: Files): string[] {
  const differs = (path: string, old: Entry): boolean => {
    const now = after[path];
    if (old.kind === "folder" || /^\/tmp\//.test(path)) return false;
    if (now === undefined || old.kind !== now.kind || old.mode !== now.mode) return true;
    return isLog(path) ? !now.data.startsWith(old.data) : now.data !== old.data;
  };
  const changed = Object.entries(before).filter(([path, old]) => differs(path, old));
  return changed.map(([path]) => path).sort();
}
