import type { World } from "./world.js";

/** The script of the customer: what a message of the agent is answered with. The same message gets the same answer. */
export function answerOf({ person, orders, decisions }: World, text: string): string {
  const said: string[] = [];
  if (/\bpin\b|verif|identi/i.test(text)) said.push(`My PIN is ${person.pin}.`);
  if (/address/i.test(text)) {
    const to = person.requests.flatMap(({ address }) => address ?? []);
    said.push(...to.map((address) => `The new address is: ${address}`));
  }
  if (/\border|which|number/i.test(text)) {
    const items = person.requests.map(({ order_id }) => orders.find(({ id }) => id === order_id)?.item);
    said.push(`I mean the ${items.join(" and the ")}; I do not have the number here.`);
  }
  if (said.length > 0) return said.join("\n");
  const isRefused = decisions.some(({ outcome }) => outcome !== "approved");
  return isRefused
    ? "That is disappointing. Can you not make an exception?"
    : "Thank you. Is there more that you need from me?";
}
