import type { ValidationIssue } from "../../errors.js";
import type { JsonObject } from "../../protocol/messages.js";
import { briefInput } from "../../validation/errors/brief-input.js";
import { extraField, MAX_ISSUES, missingField } from "../../validation/errors/issues.js";

/** Collects what is wrong with the members of a body, in the reference's words. */
export class BodyFields {
  readonly issues: ValidationIssue[] = [];
  readonly #body: JsonObject;

  constructor(body: JsonObject) {
    this.#body = body;
  }

  object(name: string): JsonObject {
    const value = this.#required(name);
    if (value === undefined) return {};
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonObject;
    this.#wrong("dict_type", name, "must be an object");
    return {};
  }

  string(name: string): string {
    const value = this.#required(name);
    if (typeof value === "string") return value;
    if (value !== undefined) this.#wrong("string_type", name, "must be a string");
    return "";
  }

  /** Absent and null are undefined. */
  optionalString(name: string, maxLength: number): string | undefined {
    const value = this.#body[name] ?? undefined;
    if (value === undefined) return undefined;
    if (typeof value === "string" && value.length <= maxLength) return value;
    if (typeof value !== "string") this.#wrong("string_type", name, "must be a string");
    else this.#wrong("string_too_long", name, `must have at most ${maxLength} characters`, { max_length: maxLength });
    return undefined;
  }

  /** A number above zero; numeric strings count, absent and null are undefined. */
  optionalPositive(name: string): number | undefined {
    const value = this.#body[name] ?? undefined;
    if (value === undefined) return undefined;
    const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    if (typeof number === "number" && Number.isFinite(number) && number > 0) return number;
    if (typeof number !== "number" || !Number.isFinite(number)) this.#wrong("float_parsing", name, "must be a number");
    else this.#wrong("greater_than", name, "must be greater than 0", { gt: 0 });
    return undefined;
  }

  integer(name: string): number {
    const value = this.#required(name);
    return value === undefined ? 0 : this.#asInteger(name, value);
  }

  optionalInteger(name: string): number | undefined {
    const value = this.#body[name] ?? undefined;
    return value === undefined ? undefined : this.#asInteger(name, value);
  }

  /** Call last: unknown members are refused after what is wrong with the known ones. */
  only(...known: string[]): void {
    for (const key in this.#body) {
      if (this.issues.length >= MAX_ISSUES) return;
      if (!known.includes(key)) this.issues.push(extraField(["body", key], this.#body[key]));
    }
  }

  #asInteger(name: string, value: unknown): number {
    const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    if (typeof number === "number" && Number.isInteger(number)) return number;
    this.#wrong("int_parsing", name, "must be a whole number");
    return 0;
  }

  #required(name: string): unknown {
    if (name in this.#body) return this.#body[name];
    this.issues.push(missingField(["body", name], this.#body));
    return undefined;
  }

  #wrong(type: string, name: string, msg: string, ctx?: Record<string, unknown>): void {
    const input = briefInput(this.#body[name]);
    const issue: ValidationIssue = { type, loc: ["body", name], msg: `${name} ${msg}`, input };
    this.issues.push(ctx === undefined ? issue : { ...issue, ctx });
  }
}
