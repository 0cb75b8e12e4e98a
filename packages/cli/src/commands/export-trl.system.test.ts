import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test, vi } from "vitest";
import {
  callCommand,
  counterModule,
  createProject,
  startCommand,
} from "../../../../test-support/commands/command-line.js";
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
pairs = load_dataset("parquet", data_files="preference.parquet", split="train")
dpo = DPOTrainer("model", args=DPOConfig(**options), train_dataset=pairs)
dpo.train()
print(json.dumps({
    "text": tokenizer.decode(row["input_ids"]),
    "learned": tokenizer.decode([i for i, label in zip(row["input_ids"], row["labels"]) if label != -100]),
    "chosen": tokenizer.decode(next(iter(dpo.train_dataset))["chosen_ids"]),
}))
`;

describe.skipIf(!python.available)("exported episodes", () => {
  test("are what TRL trains on: the tools are in the prompt, and only the calls are learned", async () => {
    await using project = await createProject({
      "environment.ts": counterModule(),
      "policy.mjs": "export default ({ random }) => ({ amount: random.int(1, 9) });",
    });
    const { dir: cwd } = project;
    await using server = startCommand(["serve", "--port", "0"], { cwd });
    const [, url = ""] = await server.printed(/at (http:\S+)/);
    const collected = await callCommand(["collect", url, "-n", "4", "--group-size", "4", "--policy", "policy.mjs"], {
      cwd,
    });
    expect(collected.code).toBe(0);
    for (const form of ["trl-sft", "trl-preference"]) {
      expect((await callCommand(["export", "episodes.jsonl", "--to", form], { cwd })).code).toBe(0);
    }
    const env = { ...process.env, HF_HUB_OFFLINE: "1", HF_HOME: join(cwd, "home") };
    const { stdout } = await promisify(execFile)(python.path, ["-c", TRAIN], { cwd, env, maxBuffer: 1 << 26 });
    const { text, learned, chosen } = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "");
    expect(text).toContain('"name": "step"');
    expect(text).toContain('<tool_response>\n{"count":');
    expect(learned).toMatch(/<tool_call>\n\{"name": "step", "arguments": \{"amount": \d\}\}\n<\/tool_call>/);
    expect(learned).not.toContain("tool_response");
    expect(chosen).toContain('"arguments": {"amount":');
  });
});
