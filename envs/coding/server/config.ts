import { totalmem } from "node:os";
import { ConfigError } from "openenv-ts";
import type { SandboxOptions } from "../sandbox/sandbox.js";

type Variables = Readonly<Record<string, string | undefined>>;

const MB = 1024 * 1024;
const SHARE_OF_MEMORY = 0.75;

/** @throws ConfigError that names the variable and what is allowed. */
export function readConfig(variables: Variables): SandboxOptions {
  return {
    limits: {
      timeoutSeconds: number(variables, "SANDBOX_TIMEOUT", { default: 30, min: 0.1, max: 86_400 }),
      maxOutputLength: whole(variables, "MAX_OUTPUT_LENGTH", { default: 10_000, min: 1, max: 1_000_000 }),
      memoryBytes: whole(variables, "SANDBOX_MEMORY_MB", { default: 512, min: 64, max: 1_000_000 }) * MB,
      processes: whole(variables, "SANDBOX_PROCESSES", { default: 64, min: 16, max: 10_000 }),
    },
    total: {
      memoryBytes:
        whole(variables, "SANDBOX_TOTAL_MEMORY_MB", { default: memoryShare(), min: 64, max: 100_000_000 }) * MB,
      processes: whole(variables, "SANDBOX_TOTAL_PROCESSES", { default: 8192, min: 16, max: 1_000_000 }),
    },
    python: variables["SANDBOX_PYTHON"] || "python3",
    bubblewrap: variables["SANDBOX_BUBBLEWRAP"] || "bwrap",
    allowWeak: variables["ALLOW_WEAK_SANDBOX"] === "1",
    requireCgroups: requirement(variables) === "cgroups",
  };
}

/** In MB, of what this machine or container has. */
function memoryShare(): number {
  const constrained = process.constrainedMemory();
  const bytes = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  return Math.max(64, Math.floor((bytes * SHARE_OF_MEMORY) / MB));
}

function requirement(variables: Variables): string {
  const value = variables["OPENENV_SANDBOX_REQUIRE"]?.trim() ?? "";
  if (value === "" || value === "cgroups") return value;
  throw new ConfigError(`OPENENV_SANDBOX_REQUIRE must be "cgroups" or empty, not "${value}".`);
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
