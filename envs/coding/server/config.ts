import { ConfigError } from "openenv-ts";
import type { SandboxOptions } from "../sandbox/sandbox.js";

type Variables = Readonly<Record<string, string | undefined>>;

const MB = 1024 * 1024;

/** @throws ConfigError that names the variable and what is allowed. */
export function readConfig(variables: Variables): SandboxOptions {
  return {
    limits: {
      timeoutSeconds: number(variables, "SANDBOX_TIMEOUT", { default: 30, min: 0.1, max: 86_400 }),
      maxOutputLength: whole(variables, "MAX_OUTPUT_LENGTH", { default: 10_000, min: 1, max: 1_000_000 }),
      memoryBytes: whole(variables, "SANDBOX_MEMORY_MB", { default: 512, min: 64, max: 1_000_000 }) * MB,
      processes: whole(variables, "SANDBOX_PROCESSES", { default: 64, min: 16, max: 10_000 }),
    },
    python: variables["SANDBOX_PYTHON"] || "python3",
    bubblewrap: variables["SANDBOX_BUBBLEWRAP"] || "bwrap",
    allowWeak: variables["ALLOW_WEAK_SANDBOX"] === "1",
  };
}

interface Range {
  default: number;
  min: number;
  max: number;
}

function number(variables: Variables, name: string, range: Range): number {
  const text = variables[name]?.trim() || String(range.default);
  const value = Number(text);
  if (value >= range.min && value <= range.max) return value;
  throw new ConfigError(`${name} must be a number from ${range.min} to ${range.max}, not "${text}".`);
}

function whole(variables: Variables, name: string, range: Range): number {
  const value = number(variables, name, range);
  if (Number.isInteger(value)) return value;
  throw new ConfigError(`${name} must be a whole number, not "${value}".`);
}
