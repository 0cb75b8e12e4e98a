import { makeCase } from "../cases.js";
import { tasks } from "../tasks.js";

interface Place {
  split: string;
  index: number;
}
interface State {
  closed: boolean;
  verified_customer: string | null;
  wrong_pins: number;
  changes: object[];
  decisions: object[];
}

/** Does what the policy demands in a task: one call for each step. */
export const oracle = (task: Place, { step_count }: { step_count: number }) => solve(task)[step_count];

/** True if the final state is what the policy demands. */
export function solved({ split, index }: Place, { closed, verified_customer, wrong_pins, changes, decisions }: State) {
  const { expected } = tasks.get(split, index);
  const isChecked = expected.verified ? verified_customer !== null : verified_customer === null && wrong_pins > 0;
  const isDone = keyOf([...changes, ...decisions]) === keyOf([...expected.changes, ...expected.decisions]);
  return closed && isChecked && isDone;
}

/** The same text for the same items in any order. */
function keyOf(items: readonly object[]): string {
  return JSON.stringify(items.map((item) => JSON.stringify(Object.entries(item).sort())).sort());
}

function solve({ split, index }: Place) {
  const { seed, kind, expected } = tasks.get(split, index);
  const { person } = makeCase(seed, kind).world;
  return [
    call("message_customer", { text: "Hello! What is your PIN?" }),
    call("verify_identity", { customer_id: person.customer_id, pin: person.pin }),
    ...expected.changes.map(({ kind: what, order_id, amount_cents, address }) => {
      if (what === "address") return call("change_address", { order_id, address });
      if (what === "refund") return call("refund_order", { order_id, amount_cents });
      if (what === "credit") return call("issue_credit", { order_id, amount_cents });
      return call(what === "cancel" ? "cancel_order" : "replace_order", { order_id });
    }),
    ...expected.decisions.map((decision) => call("decide_request", { ...decision })),
    call("message_customer", { text: "I have decided by our policy. Goodbye!", close: true }),
  ];
}

function call(tool_name: string, given: object) {
  return { type: "call_tool", tool_name, arguments: given };
}
