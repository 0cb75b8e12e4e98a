import { expect, test } from "vitest";
import { createProject } from "../../../../test-support/commands/command-line.js";
import { findFiles } from "./find-files.js";

test("every .gitignore counts from its folder on, and the nearest one over those above", async () => {
  await using project = await createProject({
    "repo/.git/HEAD": "",
    "repo/.gitignore": "*.tmp\n/envs/*/data/\nanswers.json\r\n/server\n# notes\n\n/\n",
    "repo/envs/.gitignore": "scores \nchess/a/b\n",
    "repo/envs/chess/.gitignore": "!answers.json\n/local\n",
    "repo/envs/chess/server/.gitignore": "/own.txt\nweights/\n!kept.tmp\n",
  });
  const files = [
    ...["a.tmp", "server/b.tmp", "data/x", "scores", "deep/scores", "a/b", "local"],
    ...["server/own.txt", "server/weights/w", "server/deep/weights/w"],
  ];
  const kept = [
    ...["answers.json", "deep/a/b", "deep/data/x", "deep/local", "deep/own.txt", "notes"],
    ...["server/deep/own.txt", "server/kept.tmp", "weights/w"],
  ];
  for (const path of [...files, ...kept]) await project.write(`repo/envs/chess/${path}`, "x");
  const { paths } = await findFiles(`${project.dir}/repo/envs/chess`);
  expect(paths.filter((path) => !path.endsWith(".gitignore"))).toEqual(kept);
});

test("a folder that its repository leaves out is none of it", async () => {
  await using project = await createProject({
    "repo/.git/HEAD": "",
    "repo/.gitignore": "/out/\n*.txt\n",
    "repo/out/chess/a.txt": "x",
  });
  expect((await findFiles(`${project.dir}/repo/out/chess`)).paths).toEqual(["a.txt"]);
});
