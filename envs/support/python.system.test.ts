import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { serve } from "openenv-ts/server";
import { describe, expect, test } from "vitest";
import { requirePython } from "../../test-support/requirement.js";
import environment from "./server/environment.js";
import { placeOf } from "./test-support/play.js";

const python = await requirePython();
const here = fileURLToPath(new URL(".", import.meta.url));

/** Cancels the order of the customer as the policy demands, with what the tools answer. */
const PLAY = `
import json, re, sys
from support_env import SupportEnv

url, split, index = sys.argv[1:]
with SupportEnv(base_url=url).sync() as env:
    seen = env.reset(split=split, index=int(index)).observation
    order = re.search(r"O-\\d+", seen.message).group()
    listed = env.tools.read_policy().data.articles
    article = next(one.id for one in listed if one.title == "Cancellations")
    text = env.tools.read_policy(article_id=article).data.article.text
    customer = env.tools.find_customer(email=seen.email).data.customer
    reply = env.tools.message_customer(text="What is your PIN?").data.reply
    env.tools.verify_identity(customer_id=customer.id, pin=re.search(r"\\d{4}", reply).group())
    env.tools.cancel_order(order_id=order)
    env.tools.decide_request(order_id=order, outcome="approved", article_id=article)
    last = env.tools.message_customer(text="It is cancelled.", close=True)
    state = env.state()
print(json.dumps({"text": text, "reward": last.reward, "done": last.done, "parts": last.metadata["reward_components"],
                  "changes": [one.kind for one in state.changes]}))
`;

describe.skipIf(!python.available)("the generated client on the Python package", () => {
  test("solves a case with the tools as methods", { timeout: 120_000 }, async () => {
    await using server = await serve(environment, { port: 0, logLevel: "silent" });
    const { split, index } = placeOf("cancel");
    const env = { ...process.env, PYTHONPATH: here };
    const args = ["-c", PLAY, server.url, split, String(index)];
    const { stdout } = await promisify(execFile)(python.path, args, { env });
    expect(JSON.parse(stdout)).toEqual({
      text: expect.stringContaining("not shipped"),
      reward: 1,
      done: true,
      parts: { identity: 0.125, decisions: 0.125, changes: 0.25, complete: 0.5 },
      changes: ["cancel"],
    });
  });
});
