import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { hubEndpoint, isSpaceId } from "@openenv-ts/providers/internal";
import { ConfigError } from "openenv-ts/internal";
import { findToken } from "../push/find-token.js";
import { createHubRepository, readLogin } from "../push/hub-repository.js";

export interface PushFlags {
  /** `owner/name`, or the name of a data set of the login. */
  pushToHub?: string;
  private?: boolean;
  commitMessage?: string;
}

export interface EpisodePush {
  /** Uploads the file under its own name, next to those of other environments, and returns the URL of the data set. */
  upload(file: string, onProgress: (line: string) => void): Promise<string>;
}

/**
 * Prepares the upload to a data set of the Hub, so that a wrong token is known before an episode is played; undefined
 * when none is requested.
 * @throws ConfigError, HubError
 */
export async function preparePush(
  { pushToHub, private: isPrivate = false, commitMessage }: PushFlags,
  { signal, canAsk }: { signal: AbortSignal; canAsk: boolean },
): Promise<EpisodePush | undefined> {
  if (pushToHub === undefined) {
    const unused = isPrivate ? "--private" : commitMessage !== undefined ? "--commit-message" : undefined;
    if (unused !== undefined) throw new ConfigError(`${unused} requires --push-to-hub.`);
    return undefined;
  }
  const isNamed = isSpaceId(pushToHub.includes("/") ? pushToHub : `owner/${pushToHub}`);
  if (!isNamed) {
    const given = JSON.stringify(pushToHub);
    throw new ConfigError(
      `${given} is not the ID of a data set; use owner/name with letters, digits, "-", "_" and ".".`,
    );
  }
  const token = await findToken({ canAsk });
  const user = await readLogin({ token, signal });
  const id = pushToHub.includes("/") ? pushToHub : `${user}/${pushToHub}`;
  return {
    async upload(file, onProgress) {
      const repository = createHubRepository("dataset", id, { token, signal });
      await repository.create({ private: isPrivate });
      const files: { path: string; content: URL | Blob }[] = [{ path: basename(file), content: pathToFileURL(file) }];
      if (!(await repository.has(CARD))) files.push({ path: CARD, content: new Blob([renderCard(id)]) });
      await repository.upload(files, { title: commitMessage ?? "Add episodes of openenv collect", onProgress });
      return `${hubEndpoint()}/datasets/${id}`;
    },
  };
}

const CARD = "README.md";

function renderCard(id: string): string {
  return `---
configs:
  - config_name: default
    data_files:
      - split: train
        path: "*.jsonl"
tags:
  - openenv
---

# Episodes

Played by \`openenv collect\`. Each line of a file is an episode, with its chat \`messages\` and \`total_reward\`. The columns
\`tools\`, \`reset\`, \`start\`, \`steps\` and \`failures\` are JSON text. Leave out the lines whose \`outcome\` is \`failed\`:
they are not results.

\`\`\`python
from datasets import load_dataset

episodes = load_dataset("${id}", split="train")
\`\`\`
`;
}
