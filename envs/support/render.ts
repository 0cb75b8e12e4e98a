import type { ViewPart } from "openenv-ts";
import type { Parts } from "./grade.js";
import type { World } from "./world.js";

const euros = (cents: number): string => (cents / 100).toFixed(2);

/** The conversation, then what was done, then what it earned. */
export function renderCase(
  { messages, changes, decisions, verified, closed }: World,
  parts: Parts | undefined,
): ViewPart[] {
  const said = messages.map(({ from, text }): ViewPart => {
    const runs = [{ text: from === "agent" ? "Agent: " : "Customer: ", tone: "neutral" as const }, { text }];
    return { kind: "text", runs };
  });
  const done = [
    verified === null ? "No customer is verified." : `Verified: ${verified}.`,
    ...changes.map(
      ({ kind, order_id, amount_cents }) => `${order_id}: ${kind}${amount_cents ? ` ${euros(amount_cents)}` : ""}.`,
    ),
    ...decisions.map(({ order_id, outcome, article_id }) => `${order_id}: ${outcome} by ${article_id}.`),
  ];
  const end = Object.entries(parts ?? {}).map(([name, value]) => {
    return { text: ` ${name} ${value} `, tone: value > 0 ? ("positive" as const) : ("negative" as const) };
  });
  return [
    ...said,
    { kind: "text", runs: [{ text: done.join("\n"), mono: true }] },
    ...(closed ? [{ kind: "text" as const, runs: end.length > 0 ? end : [{ text: "The case is closed." }] }] : []),
  ];
}
