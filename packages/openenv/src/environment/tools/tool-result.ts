import type { ToolResult } from "../../protocol/tools.js";
import { isObject } from "../../util/is-object.js";

export interface RenderOptions {
  /** As the handler gave it: its text shows NaN and infinities, which the data cannot. */
  returned: unknown;
  nonFinite: number;
  /** It is put into an object even if it is one: its schema might have been none. */
  wraps: boolean;
}

/** What a client is told of a tool's value, in the reference's shape. */
export function renderResult(data: unknown, { returned, nonFinite, wraps }: RenderOptions): ToolResult {
  const wrapped = wraps || !isObject(data);
  return {
    content: isNothing(data)
      ? []
      : [{ type: "text", text: nonFinite === 0 ? toText(data) : toLooseText(returned), annotations: null, meta: null }],
    structured_content: wrapped ? { result: data } : data,
    meta: wrapped ? { fastmcp: { wrap_result: true } } : null,
    data,
    is_error: false,
  };
}

function isNothing(data: unknown): boolean {
  return data === null || (Array.isArray(data) && data.length === 0);
}

function toText(data: unknown): string {
  return typeof data === "string" ? data : JSON.stringify(data);
}

/** JSON, but with the letters of numbers that JSON has not. */
function toLooseText(returned: unknown): string {
  const mark = crypto.randomUUID();
  const text = JSON.stringify(returned, (_key, value: unknown) =>
    typeof value === "number" && !Number.isFinite(value) ? mark + value : value,
  );
  return text.replaceAll(new RegExp(`"${mark}(-?\\w+)"`, "g"), "$1");
}
