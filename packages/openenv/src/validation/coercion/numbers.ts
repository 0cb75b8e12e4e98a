import type * as z from "zod";
import type { KnownSchema } from "../../contract/zod-tree.js";

/** The constraints of a number schema. */
export interface NumberRules {
  integer: boolean;
  /** The author's limits, without the safe range that every integer has. */
  limits: number[];
  exclusive: boolean;
  constrained: boolean;
}

/** Undefined unless the schema is a number. */
export function numberRules(schema: KnownSchema): NumberRules | undefined {
  const { def } = schema._zod;
  if (def.type !== "number") return undefined;
  const rules: NumberRules = { integer: false, limits: [], exclusive: false, constrained: false };
  const checks = (def.checks ?? []).map((check) => check._zod.def as CheckDef);
  for (const { check, format, value, inclusive } of [def as unknown as CheckDef, ...checks]) {
    if (check === "number_format") rules.integer ||= format?.includes("int") === true;
    else if (check !== undefined) rules.constrained = true;
    if ((check === "greater_than" || check === "less_than") && typeof value === "number") {
      rules.limits.push(value);
      rules.exclusive ||= inclusive === false;
    }
  }
  return rules;
}

interface CheckDef {
  check?: string;
  format?: z.core.$ZodNumberFormats;
  value?: unknown;
  inclusive?: boolean;
}

/** Placeholders for NaN, which schemas reject. Almost every number schema accepts one of them. */
export function candidates(rules: NumberRules): number[] {
  const near = rules.limits.flatMap((limit) => [limit, limit + 1, limit - 1, limit + 1e-9, limit - 1e-9]);
  const sum = rules.limits.reduce((total, limit) => total + limit, 0);
  return [0, ...near, rules.limits.length > 0 ? sum / rules.limits.length : 1];
}
