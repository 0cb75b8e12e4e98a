"""A language model without downloads, whose tokens are whole tool calls: a random one acts from its first step on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import trl
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM


def make_model(calls: Sequence[tuple[str, dict[str, Any]]], seed: int = 0) -> tuple[Any, Any]:
    """Returns a model and its tokenizer. ``calls`` are the names and arguments of the tool calls that it can make."""
    torch.manual_seed(seed)
    words = {word: nth for nth, word in enumerate(["<unk>", "yes", "no"])}
    inner = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, unk_token="<unk>", eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    made = [
        f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>" for name, arguments in calls
    ]
    tokenizer.add_tokens(["<|im_start|>", *made])
    tokenizer.chat_template = (Path(trl.__file__).parent / "chat_templates/qwen3.jinja").read_text()
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=1024,
        tie_word_embeddings=False,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return Qwen3ForCausalLM(config), tokenizer


def save_model(folder: str) -> None:
    """Writes a model that can play the wordle of the guide, to be loaded by the path of the folder."""
    words = ["crane", "slate", "moist"]
    model, tokenizer = make_model([("step", {"message": f"[{word}]"}) for word in words])
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
