import type { ToolResult } from "../../protocol/tools.js";
import { isObject } from "../../util/is-object.js";

export interface RenderOptions {
  /** The value from the handler. Its text can show NaN and infinities, which JSON data cannot. */
  returned: unknown;
  nonFinite: number;
  /** Wraps the value in an object, even if it is an object, because its declared type might not be one. */
  wraps: boolean;
}

/** The result of a tool call for the client, in the format of the Python package. */
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

/** JSON with NaN and Infinity as bare words. */
function toLooseText(returned: unknown): string {
  const mark = crypto.randomUUID();
  const text = JSON.stringify(returned, (_key, value: unknown) =>
    typeof value === "number" && !Number.isFinite(value) ? mark + value : value,
  );
  return text.replaceAll(new RegExp(`"${mark}(-?\\w+)"`, "g"), "$1");
}
