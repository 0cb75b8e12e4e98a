export const NAMES = { node: "Node", bun: "Bun", deno: "Deno" };

/** The server of a subject; Python is the same beside each runtime. */
export function onRuntime(subject, runtime) {
  return subject.startsWith("python") ? subject : `${subject} on ${runtime}`;
}
