"""Starts an image with the released launcher, takes a step, closes, and prints the observation."""

import asyncio
import json
import sys

from openenv.core.generic_client import GenericEnvClient


async def main(image):
    client = await GenericEnvClient.from_docker_image(image, env_vars={"HELLO": "python"})
    try:
        await client.reset()
        print(json.dumps((await client.step({"amount": 2})).observation))
    finally:
        await client.close()


asyncio.run(main(sys.argv[1]))
