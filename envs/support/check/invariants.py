"""Grades episodes a second time, written apart from the environment, and checks what no final state may break.

Usage: python3 invariants.py < episodes.jsonl

Each line is {"task", "initial", "final", "reward"}: the task with its hidden fields, the world after the reset and at the end,
and the total reward. Prints {"episodes", "paid", "problems"} as JSON, and exits with 1 if there is a problem.
"""

import json
import sys
from datetime import date


def days(start, end):
    return (date.fromisoformat(end) - date.fromisoformat(start)).days


def by_id(rows):
    return {row["id"]: row for row in rows}


def percent(amount, part):
    return amount * part // 100


def judge(world, request):
    """The outcome, the topic of the article, and the change (kind, cents, address) that the policy demands, or None."""
    policy, want = world["policy"], request["want"]
    order = by_id(world["orders"])[request["order_id"]]
    sent = next((s for s in world["shipments"] if s["order_id"] == order["id"]), None)
    delivered = sent and sent["delivered_on"]
    age = days(delivered, world["today"]) if delivered else None
    if want in ("cancel", "address"):
        if order["status"] != "paid":
            return "denied", want, None
        if want == "cancel":
            return "approved", want, ("cancel", order["paid_cents"], None)
        return "approved", want, ("address", 0, request["address"])
    if want == "delay":
        late = days(sent["promised_on"], delivered or world["today"]) if sent else 0
        if late <= policy["late_days"]:
            return "denied", want, None
        credit = min(policy["credit_limit"], percent(order["paid_cents"], policy["credit_percent"]))
        return "approved", want, ("credit", credit, None)
    limit = policy["return_days"] if want == "return" else policy["damage_days"]
    if age is None or age > limit:
        return "denied", want, None
    if want == "damage" and order["in_stock"]:
        return "approved", want, ("replace", 0, None)
    amount = order["paid_cents"]
    if want == "return" and order["seal"] != "intact":
        amount = percent(amount, policy["opened_percent"])
    if amount > policy["refund_limit"]:
        return "escalated", "limit", None
    return "approved", want, ("refund", amount, None)


def demand(world):
    """Whether the person must be verified, the changes, and the decisions by order."""
    person = world["person"]
    customer = by_id(world["customers"])[person["customer_id"]]
    genuine = customer["pin"] == person["pin"]
    changes, decisions = [], {}
    for request in person["requests"]:
        if not genuine:
            outcome, topic, change = "denied", "identity", None
        elif customer["flag"] == "review":
            outcome, topic, change = "escalated", "fraud", None
        else:
            outcome, topic, change = judge(world, request)
        decisions[request["order_id"]] = (outcome, world["articles"][topic]["id"])
        if change:
            changes.append((request["order_id"], *change))
    return genuine, changes, decisions


def grade(initial, final):
    genuine, wanted, decisions = demand(initial)
    missing = list(wanted)
    for made in final["changes"]:
        key = (made["order_id"], made["kind"], made["amount_cents"], made["address"])
        if not made["verified"] or key not in missing:
            return 0
        missing.remove(key)
    made = {row["order_id"]: (row["outcome"], row["article_id"]) for row in final["decisions"]}
    contact = initial["person"]["customer_id"]
    if set(made) - set(decisions) or final["verified"] not in (None, contact):
        return 0
    checked = final["verified"] == contact if genuine else final["verified"] is None and final["wrongPins"] > 0
    decided = sum(made.get(order) == right for order, right in decisions.items()) / len(decisions)
    changed = 1 - len(missing) / len(wanted) if wanted else decided
    whole = checked and decided == 1 and changed == 1
    return 0.125 * checked + 0.125 * decided + 0.25 * changed + 0.5 * whole


def broken(initial, final):
    """What is wrong with the final state, whatever the agent did."""
    before, after = by_id(initial["orders"]), by_id(final["orders"])
    if sum(initial["balances"].values()) != sum(final["balances"].values()):
        yield "money was created or lost"
    if any(final["balances"][name] < 0 for name in final["balances"]):
        yield "a balance is negative"
    if sorted(before) != sorted(after):
        yield "an order appeared or vanished"
    paid_back = dict.fromkeys(after, 0)
    for change in final["changes"]:
        paid_back[change["order_id"]] += change["amount_cents"]
    received = {row["id"]: 0 for row in initial["customers"]}
    for name, order in after.items():
        then = before[name]
        kinds = [change["kind"] for change in final["changes"] if change["order_id"] == name]
        received[order["customer_id"]] += paid_back[name]
        if paid_back[name] > order["paid_cents"]:
            yield f"{name}: more was paid back than paid"
        if {key: order[key] for key in order if key not in ("status", "address")} != {
            key: then[key] for key in then if key not in ("status", "address")
        }:
            yield f"{name}: its record was changed"
        if order["status"] == "cancelled" and (then["status"] != "paid" or paid_back[name] != order["paid_cents"]):
            yield f"{name}: a cancelled order was shipped, or was not paid back"
        if order["status"] == "replaced" and (then["status"] != "delivered" or not then["in_stock"]):
            yield f"{name}: was replaced without a delivery or without stock"
        if order["status"] != then["status"] and order["status"] not in ("cancelled", "replaced"):
            yield f"{name}: went from {then['status']} to {order['status']}"
        if (order["status"] == "cancelled") != ("cancel" in kinds) or (order["status"] == "replaced") != ("replace" in kinds):
            yield f"{name}: its status does not fit its changes"
        if order["address"] != then["address"] and ("address" not in kinds or then["status"] == "delivered"):
            yield f"{name}: its address was changed without a record, or after the delivery"
        if kinds.count("replace") > 1 or kinds.count("cancel") > 1:
            yield f"{name}: was cancelled or replaced twice"
    for customer, amount in received.items():
        if final["balances"][customer] - initial["balances"][customer] != amount:
            yield f"{customer}: the balance does not fit the changes"


def check(episode):
    task, initial, final = episode["task"], episode["initial"], episode["final"]
    yield from broken(initial, final)
    expected = grade(initial, final) if final["closed"] else 0
    if abs(expected - episode["reward"]) > 1e-9 or not 0 <= episode["reward"] <= 1:
        yield f"the reward is {episode['reward']}, and {expected} by the second grade"
    genuine, changes, decisions = demand(initial)
    hidden = task["expected"]
    if (
        hidden["verified"] != genuine
        or sorted((c["order_id"], c["kind"], c["amount_cents"], c["address"]) for c in hidden["changes"]) != sorted(changes)
        or {d["order_id"]: (d["outcome"], d["article_id"]) for d in hidden["decisions"]} != decisions
    ):
        yield "the hidden answer of the task is not what the policy demands"


def main():
    episodes, paid, problems = 0, 0, []
    for line in sys.stdin:
        episode = json.loads(line)
        episodes += 1
        paid += episode["reward"] == 1
        problems += [f"{episode['task']['id']}: {problem}" for problem in check(episode)]
    print(json.dumps({"episodes": episodes, "paid": paid, "problems": problems}))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
