import type * as z from "zod";

/** Type and message of one validation error, in Pydantic's vocabulary. */
export interface PydanticError {
  type: string;
  msg: string;
  ctx?: Record<string, unknown>;
}

/** Pydantic's error for a string with the wrong format. */
export function formatError(issue: z.core.$ZodIssueInvalidStringFormat): PydanticError {
  const { format } = issue;
  const parsing = PARSING[format];
  if (parsing) {
    const error = `not a valid ${parsing.noun}`;
    return { type: parsing.type, msg: `Must be a ${parsing.noun}`, ctx: { error } };
  }
  if (PATTERNS.has(format) && issue.pattern !== undefined) {
    const pattern = issue.pattern.replace(/^\/(.*)\/[a-z]*$/s, "$1");
    return { type: "string_pattern_mismatch", msg: `Must match ${pattern}`, ctx: { pattern } };
  }
  return { type: "value_error", msg: issue.message, ctx: { error: issue.message } };
}

const PARSING: Record<string, { type: string; noun: string }> = {
  uuid: { type: "uuid_parsing", noun: "UUID" },
  guid: { type: "uuid_parsing", noun: "UUID" },
  datetime: { type: "datetime_from_date_parsing", noun: "date and time (ISO 8601)" },
  date: { type: "date_from_datetime_parsing", noun: "date (ISO 8601)" },
  time: { type: "time_parsing", noun: "time (ISO 8601)" },
  duration: { type: "time_delta_parsing", noun: "duration (ISO 8601)" },
  url: { type: "url_parsing", noun: "URL" },
};

const PATTERNS = new Set([
  "regex",
  "starts_with",
  "ends_with",
  "includes",
  "lowercase",
  "uppercase",
  "template_literal",
]);
