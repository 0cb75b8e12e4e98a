/** An Error unchanged, also one from another realm (`node:vm`), and any other thrown value as one. Never throws. */
export function toError(error: unknown): Error {
  try {
    if (error instanceof Error || Object.prototype.toString.call(error) === "[object Error]") {
      const { message, name, stack } = error as Error;
      if (typeof message === "string" && typeof stack === "string") return error as Error;
      return new Error(typeof message === "string" ? message : String(name));
    }
    return new Error(typeof error === "string" ? error : (JSON.stringify(error) ?? String(error)));
  } catch {
    return new Error("the thrown value cannot be read");
  }
}
