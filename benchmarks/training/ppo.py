"""Runs the script of docs/guide/train/stable-baselines3.md once for each seed; main.mjs reads the output.

Usage: python ppo.py <url> <seed>... Prints a line of JSON for each seed: the mean reward of an episode before and after the
training, its steps, and the seconds of the training with both evaluations.
"""

import contextlib
import json
import re
import sys
import time
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/guide/train/stable-baselines3.md"


def main(url, *seeds):
    [code] = re.findall(r"^```python file=ppo.py.*?\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    definitions, training = code.split("\nenvs = ")
    # What a seed reaches is reported, also when it is too little for the page.
    training = f"envs = {training[: training.index('assert ')]}".replace("http://localhost:8000", url)
    script = {}
    exec(definitions, script)
    for seed in seeds:
        seeded, places = re.subn(r"seed(=|\()1\b", rf"seed\g<1>{seed}", training)
        if places != 2:
            raise ValueError(f"the script of {PAGE.name} has {places} seeds, not 2")
        started = time.perf_counter()
        # The script prints its result as text.
        with contextlib.redirect_stdout(sys.stderr):
            exec(seeded, script)
        seconds = time.perf_counter() - started
        script["envs"].close()
        names = {"before": script["before"], "after": script["after"], "steps": script["model"].num_timesteps}
        # The evaluation returns numbers of numpy.
        rewards = {name: float(value) for name, value in names.items()}
        print(json.dumps({"seed": int(seed), "seconds": seconds, **rewards}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
