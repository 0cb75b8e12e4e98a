"""Plays games of Wordle with PyPI's textarena: reads games as JSON from standard input, writes what happened in each.

The words come with the games, in place of the corpora that textarena would download.
"""

import json
import re
import sys

import nltk
import nltk.corpus

given = json.load(sys.stdin)


class Words:
    @staticmethod
    def words(*_files):
        return given["words"]


nltk.corpus.words = Words
nltk.pos_tag = lambda tokens: [(token, "NN") for token in tokens]
nltk.download = lambda *_names, **_options: True

import textarena  # noqa: E402  (it reads its words when it is imported)

INVALID = {
    "format": "wrong format",
    "length": "must be exactly",
    "repeated": "already guessed",
    "unknown": "not an English word",
}


def play(env, secret, moves):
    env.reset(num_players=1)
    forget(env)
    env.state.game_state["secret_word"] = secret
    told = len(env.get_observation()[1])
    steps = []
    for move in moves:
        guesses = len(env.state.game_state["guess_history"])
        done, _ = env.step(move)
        transcript = env.get_observation()[1]
        info = env.state.game_info[0]
        steps.append(
            {
                "guess": env.state.game_state["guess_history"][guesses:],
                **read_news(transcript[told:], info.get("reason", "")),
                "done": done,
                "reward": env.state.rewards[0] if env.state.rewards else 0,
                "turn": env.state.turn,
                "lost_by_invalid_move": info["invalid_move"],
            }
        )
        told = len(transcript)
        if done:
            break
    return steps


def forget(env):
    """The wrapper that makes one text of all messages keeps those of earlier games."""
    while not hasattr(vars(env).get("full_observations"), "clear"):
        env = env.env
    env.full_observations.clear()


def read_news(text, reason):
    """What the game said about one move; the move itself, which it repeats first, may say anything."""
    said = text[text.rfind("\n[GAME] ") :]
    left = re.search(r"You have (\d+) guesses left", said)
    refusal = said if "You attempted an invalid move" in said else reason if reason.startswith("Invalid Move") else ""
    return {
        "rows": re.findall(r"^[A-Z](?: [A-Z]){4}\n[GYX](?: [GYX]){4}$", said, re.MULTILINE),
        "left": int(left[1]) if left else None,
        "refused": next((kind for kind, words in INVALID.items() if words in refusal), None),
    }


def make():
    env = textarena.make("Wordle-v0")
    env.dictionary.is_english_word = set(given["words"]).__contains__
    return env


environment = make()
json.dump([play(environment, **game) for game in given["games"]], sys.stdout)
