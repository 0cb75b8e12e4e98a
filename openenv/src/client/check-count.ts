import { ConfigError } from "../errors.js";

/** @throws ConfigError when the option is not a whole number from 1 on. */
export function checkCount(name: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 1) return;
  throw new ConfigError(`${name} must be a whole number from 1 on, not ${value}.`);
}
