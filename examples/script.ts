/** What a scripted model does: the tool calls of each turn. After the last turn it answers with a text. */
export type Script = readonly (readonly ScriptedCall[])[];
export type ScriptedCall = readonly [name: string, given: object];

/** Solves the task of `mcp-agent/environment.ts` with seed 2. */
export const FIND_IVORY: Script = [
  [["list_boxes", {}]],
  ["amber", "cobalt", "ivory", "jade", "ruby"].map((name) => ["weigh", { name }] as const),
  [["open", { name: "ivory" }]],
];
