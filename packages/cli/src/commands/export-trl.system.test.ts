import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { connect } from "openenv-ts/client";
import type { EpisodeRow, RolloutPage } from "openenv-ts/protocol";
import { describe, expect, test, vi } from "vitest";
import {
  callCommand,
  counterModule,
  createProject,
  startCommand,
} from "../../../../test-support/commands/command-line.js";
import { AS_OPERATOR, fetchAsOperator, OPERATOR_VARIABLES } from "../../../../test-support/operator.js";
import { requireTraining } from "../../../../test-support/requirement.js";

/** Python loads torch and trains for one step. */
vi.setConfig({ testTimeout: 300_000 });

const python = await requireTraining();

/** Trains a tiny model with random weights for one step, and prints what it was trained to say. */
const TRAIN = `
import json
from pathlib import Path

import trl
from datasets import load_dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

letters = {letter: nth for nth, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
inner = Tokenizer(models.BPE(vocab=letters, merges=[]))
inner.pre_tokenizer, inner.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|im_end|>", pad_token="<|endoftext|>")
tokenizer.add_tokens(["<|im_start|>"])
tokenizer.chat_template = (Path(trl.__file__).parent / "chat_templates/qwen3_training.jinja").read_text()
config = Qwen3Config(
    vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
    num_key_value_heads=2, head_dim=16, max_position_embeddings=8192,
)
Qwen3ForCausalLM(config).save_pretrained("model")
tokenizer.save_pretrained("model")
options = dict(use_cpu=True, report_to="none", max_steps=1, per_device_train_batch_size=1, output_dir="out",
               save_strategy="no", max_length=None)

rows = load_dataset("parquet", data_files="sft.parquet", split="train")
sft = SFTTrainer("model", args=SFTConfig(assistant_only_loss=True, **options), train_dataset=rows)
sft.train()
row = next(iter(sft.train_dataset))
def prefer(file):
    pairs = load_dataset("parquet", data_files=file, split="train")
    dpo = DPOTrainer("model", args=DPOConfig(**options), train_dataset=pairs)
    dpo.train()
    row = next(iter(dpo.train_dataset))
    return [tokenizer.decode(row[name]) for name in ("prompt_ids", "chosen_ids", "rejected_ids")]

print(json.dumps({
    "text": tokenizer.decode(row["input_ids"]),
    "learned": tokenizer.decode([i for i, label in zip(row["input_ids"], row["labels"]) if label != -100]),
    "chosen": prefer("preference.parquet")[1],
    "saved": prefer("saved.parquet"),
}))
`;

describe.skipIf(!python.available)("exported episodes", () => {
  test("are what TRL trains on: the tools are in the prompt, and only the calls are learned", async () => {
    await using project = await createProject({
      "environment.ts": counterModule(),
      "policy.mjs": "export default ({ random }) => ({ amount: random.int(1, 9) });",
    });
    const { dir: cwd } = project;
    await using server = startCommand(["serve", "--port", "0", "--store", "data"], { cwd, env: OPERATOR_VARIABLES });
    const [, url = ""] = await server.printed(/at (http:\S+)/);
    const collected = await callCommand(["collect", url, "-n", "4", "--group-size", "4", "--policy", "policy.mjs"], {
      cwd,
    });
    expect(collected.code).toBe(0);
    for (const form of ["trl-sft", "trl-preference"]) {
      expect((await callCommand(["export", "episodes.jsonl", "--to", form], { cwd })).code).toBe(0);
    }
    await savePair(url);
    expect(
      (await callCommand(["rollouts", "export", "--store", "data", "--pairs", "-o", "saved.parquet"], { cwd })).code,
    ).toBe(0);
    const env = { ...process.env, HF_HUB_OFFLINE: "1", HF_HOME: join(cwd, "home") };
    const { stdout } = await promisify(execFile)(python.path, ["-c", TRAIN], { cwd, env, maxBuffer: 1 << 26 });
    const { text, learned, chosen, saved } = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "");
    expect(text).toContain('"name": "step"');
    expect(text).toContain('<tool_response>\n{"count":');
    expect(learned).toMatch(/<tool_call>\n\{"name": "step", "arguments": \{"amount": \d\}\}\n<\/tool_call>/);
    expect(learned).not.toContain("tool_response");
    expect(chosen).toContain('"arguments": {"amount":');
    const [prompt, better, worse] = saved as string[];
    expect(prompt).toMatch(/"amount": 1\}[\s\S]*<tool_response>\n\{"count":1\}/);
    expect(better).toMatch(/"arguments": \{"amount": 9\}\}\n<\/tool_call>\S*\s*$/);
    expect(worse).toMatch(/"arguments": \{"amount": 2\}\}\n<\/tool_call>\S*\s*$/);
  });
});

/** Plays two episodes whose first steps are equal, and prefers the one that reaches the end first. */
async function savePair(url: string): Promise<void> {
  for (const last of [9, 2]) {
    await using env = await connect(url);
    await env.reset({ seed: 1, metadata: { group: "saved" } });
    for (const amount of [1, last]) await env.step({ amount });
  }
  const rows = async () =>
    (
      (await (
        await fetchAsOperator(`${url}/rollouts?q=group:saved%20-outcome:running&sort=outcome`)
      ).json()) as RolloutPage<EpisodeRow>
    ).rows;
  await expect.poll(async () => (await rows()).length, { timeout: 20_000 }).toBe(2);
  const [chosen, rejected] = await rows();
  const body = JSON.stringify({ rejected: rejected?.id });
  expect(
    (await fetch(`${url}/rollouts/${chosen?.id}/pairs`, { method: "POST", headers: AS_OPERATOR, body })).status,
  ).toBe(201);
}
