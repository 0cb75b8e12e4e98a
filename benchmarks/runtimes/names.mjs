export const NAMES = { node: "Node", node24: "Node 24", node26: "Node 26", bun: "Bun", deno: "Deno" };

/** The server of a subject; there is one Python for all runtimes. */
export function onRuntime(subject, runtime) {
  return subject.startsWith("python") ? subject : `${subject} on ${runtime}`;
}
