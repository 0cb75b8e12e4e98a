import { statSync } from "node:fs";
import { resolve } from "node:path";
import { quoteShell } from "@openenv-ts/deploy";
import { hubEndpoint, spaceSubdomain } from "@openenv-ts/providers/internal";
import { readManifest } from "@openenv-ts/providers/manifest";
import type { Command } from "commander";
import { ConfigError } from "openenv-ts/internal";
import { readWithNotes } from "../project/manifest-notes.js";
import { findToken } from "../push/find-token.js";
import { readLogin } from "../push/hub-repository.js";
import { createHubSpace } from "../push/hub-space.js";
import { fillIn, parseSettings } from "../push/settings.js";
import { chooseSpace } from "../push/space-name.js";
import { type StagedSpace, stageSpace } from "../push/stage-space.js";
import { validateForPush } from "../push/validate.js";
import { refusePlugins } from "../serve/load-plugins.js";
import { abortOnSignals } from "../terminal/interrupt.js";
import { repeatable } from "../terminal/option-values.js";
import { exit, print, printError, printNote, printProgress } from "../terminal/output.js";

const EXAMPLES = `
Validates the environment, prepares a Docker Space with its web interface, uploads it in one commit and sets the variables
of openenv.yaml. The token is HF_TOKEN, or that of \`hf auth login\`, or the command prompts for one. Files that .gitignore
lists and files with secrets (.env, keys) are not uploaded.

Exit codes: 0 success, 1 failed or validation failed, 2 invalid usage.

Examples:
  openenv push
  openenv push -d envs/chess -r chess-club/chess --private
  openenv push --secret OPENAI_API_KEY --env DIFFICULTY=3
  openenv push -r somebody/chess --create-pr
  openenv push --dry-run --json`;

interface PushFlags {
  directory: string;
  repoId?: string;
  baseImage?: string;
  private?: boolean;
  namespace?: string;
  hardware?: string;
  secret: string[];
  env: string[];
  createPr?: boolean;
  dryRun?: boolean;
  json?: boolean;
}

export function configurePush(command: Command): void {
  command
    .option("-d, --directory <dir>", "folder of the environment", ".")
    .option(
      "-r, --repo-id <name>",
      "ID of the Space: owner/name, or name (default: name of the environment, owned by the logged-in user)",
    )
    .option("-b, --base-image <image>", "base image of the last stage of the Dockerfile")
    .option("--private", "make the Space private when it is created")
    .option("--namespace <owner>", "user or organisation that owns the Space")
    .option("--hardware <flavor>", "hardware to request, such as cpu-upgrade or t4-small")
    .option(
      "--secret <key>",
      "secret of the Space: KEY=VALUE, or KEY to take its value from the environment; repeatable",
      repeatable,
      [],
    )
    .option("--env <key=value>", "public variable of the Space, overrides openenv.yaml; repeatable", repeatable, [])
    .option("--create-pr", "open a pull request instead of committing")
    .option("--dry-run", "print what would be published, without contacting the Hub")
    .option("--json", "print the result as JSON")
    .addHelpText("after", EXAMPLES)
    .action(push);
}

async function push(flags: PushFlags): Promise<void> {
  const { directory, baseImage: base, json = false, createPr = false } = flags;
  const dir = resolve(directory);
  if (!statSync(dir, { throwIfNoEntry: false })?.isDirectory()) {
    throw new ConfigError(`${directory} is not a folder; pass the folder of an environment with -d.`);
  }
  const manifest = await readWithNotes(readManifest, dir);
  refusePlugins(manifest);
  const secrets = parseSettings("--secret", fillIn("--secret", flags.secret, process.env));
  const given = parseSettings("--env", flags.env);
  const variables = { ...manifest.variables, ...given };
  rejectPullSettings(flags);
  const { owner, name } = chooseSpace({ repoId: flags.repoId, namespace: flags.namespace, name: manifest.name });
  using interrupt = abortOnSignals();
  const { signal } = interrupt;

  await using staged = await stageSpace({ dir, manifest, base, signal });
  if (staged.secret.length > 0) {
    printNote(
      `Not uploaded because they contain secrets: ${staged.secret.join(", ")}. Set their values with --secret.`,
    );
  }
  const settings = { variables, secrets: Object.keys(secrets) };
  // Prompts before the validation, which takes a while.
  const token = flags.dryRun ? undefined : await findToken({ canAsk: !json });
  const user = token === undefined ? "<login>" : await readLogin({ token, signal });
  const id = `${owner ?? user}/${name}`;
  const { level = "runtime" } = manifest.publish ?? {};
  const onValidate = (line: string): void => printProgress(`validating: ${line}`);
  const { passed, problems } = await validateForPush(dir, { level, signal, onProgress: onValidate });
  if (!passed) {
    printError(
      `${name} failed validation and was not published; run: openenv validate${level === "semantic" ? " --level semantic" : ""} ${quoteShell(directory)}\n${problems.map((line) => `  ${line}`).join("\n")}`,
    );
    return end(staged, 1);
  }
  for (const problem of problems) printNote(`warning: ${problem}`);
  if (token === undefined) {
    print(json ? JSON.stringify({ repo_id: id, ...settings, ...describe(staged) }) : renderPlan(id, staged, settings));
    return end(staged);
  }

  const space = createHubSpace(id, { token, signal });
  const made = !createPr && (await space.create({ private: flags.private ?? false }));
  if (flags.private && !createPr && !made) printNote(`${id} already exists; --private only applies to a new Space.`);
  if (!createPr) {
    // Set before the upload, so that the first start has them.
    for (const [key, value] of Object.entries(variables)) await space.setVariable(key, value);
    for (const [key, value] of Object.entries(secrets)) await space.setSecret(key, value);
    if (flags.hardware !== undefined) await space.requestHardware(flags.hardware);
  } else if (Object.keys(variables).length > 0) {
    printNote("A pull request cannot set the variables of openenv.yaml; set them on the Space after the merge.");
  }
  const onProgress = (line: string): void => printProgress(`${id}: ${line}`);
  const pull = await space.upload(staged, { asPullRequest: createPr, onProgress });

  const urls = urlsOf(id);
  const result = { repo_id: id, ...urls, ...(pull !== undefined && { pull_request: pull }), ...settings };
  print(json ? JSON.stringify({ ...result, ...describe(staged) }) : renderResult(id, urls, pull));
  return end(staged);
}

/** A pull request contains only files, so it cannot change the settings of the Space. */
function rejectPullSettings({ createPr, private: isPrivate, hardware, secret, env }: PushFlags): void {
  if (!createPr || !(isPrivate || hardware !== undefined || secret.length > 0 || env.length > 0)) return;
  throw new ConfigError(
    "--create-pr cannot be combined with --private, --hardware, --secret or --env: a pull request contains only files. Omit them.",
  );
}

/** Disposes explicitly, because `exit` ends the process before `await using` would. */
async function end(staged: StagedSpace, code = 0): Promise<void> {
  await staged[Symbol.asyncDispose]();
  exit(code);
}

function describe({ paths, bytes }: StagedSpace) {
  return { files: paths, bytes };
}

function urlsOf(id: string) {
  const app = `https://${spaceSubdomain(id)}.hf.space`;
  return { page: `${hubEndpoint()}/spaces/${id}`, web: `${app}/web`, docs: `${app}/docs`, health: `${app}/health` };
}

interface Settings {
  variables: Record<string, string>;
  secrets: string[];
}

function renderPlan(id: string, { paths, bytes }: StagedSpace, { variables, secrets }: Settings): string {
  return [
    `Would publish ${paths.length} files (${Math.ceil(bytes / 1000)} kB) as the Space ${id}:`,
    ...paths.map((path) => `  ${path}`),
    ...Object.entries(variables).map(([key, value]) => `variable ${key}=${value}`),
    ...secrets.map((key) => `secret ${key}`),
  ].join("\n");
}

function renderResult(id: string, urls: ReturnType<typeof urlsOf>, pull: string | undefined): string {
  if (pull !== undefined) return `Opened a pull request for the Space ${id}: ${pull}`;
  return `
Published the Space ${id}. It is available once the Hub has built it.

  page    ${urls.page}
  web     ${urls.web}
  docs    ${urls.docs}
  health  ${urls.health}`.trimStart();
}
