import type { ValidationIssue } from "../../errors.js";
import type { JsonObject } from "../../protocol/messages.js";

/**
 * Makes a check of actions from the action schema of `GET /schema`. It is lazy about its own limits: where the schema
 * cannot be compiled (a dialect of its own, a browser page that forbids eval) it finds nothing, and the server decides.
 */
export async function compileActionCheck(schema: JsonObject): Promise<(action: unknown) => ValidationIssue[]> {
  const { Ajv2020 } = await import("ajv/dist/2020.js");
  let validate: ReturnType<InstanceType<typeof Ajv2020>["compile"]>;
  try {
    validate = new Ajv2020({ strict: false, allErrors: true, verbose: true, validateFormats: false }).compile(schema);
  } catch {
    return () => [];
  }
  return (action) => {
    if (validate(action)) return [];
    return (validate.errors ?? []).map((error) => ({
      type: error.keyword,
      loc: locate(error.instancePath, error.params),
      msg: error.message ?? "does not fit the schema",
      input: error.data,
    }));
  };
}

/** JSON pointer to path; a missing or extra field is named itself instead of the object it is (not) in. */
function locate(pointer: string, params: Record<string, unknown>): (string | number)[] {
  const keys = pointer.split("/").slice(1);
  const loc = keys.map((key) => (/^\d+$/.test(key) ? Number(key) : key.replaceAll("~1", "/").replaceAll("~0", "~")));
  const field = params["missingProperty"] ?? params["additionalProperty"];
  return typeof field === "string" ? [...loc, field] : loc;
}
