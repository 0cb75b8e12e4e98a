export const NAMES = { node: "Node", bun: "Bun", deno: "Deno" };

/** The server of a subject; There is one Python for all runtimes. */
export function onRuntime(subject, runtime) {
  return subject.startsWith("python") ? subject : `${subject} on ${runtime}`;
}
