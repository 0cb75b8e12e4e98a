import { statSync } from "node:fs";
import { resolve } from "node:path";
import { hubEndpoint, spaceSubdomain } from "@openenv-ts/providers/internal";
import { readManifest } from "@openenv-ts/providers/manifest";
import type { Command } from "commander";
import { ConfigError } from "openenv-ts/internal";
import { findToken } from "../push/find-token.js";
import { createHubSpace, readLogin } from "../push/hub-space.js";
import { fillIn, parseSettings } from "../push/settings.js";
import { chooseSpace } from "../push/space-name.js";
import { type StagedSpace, stageSpace } from "../push/stage-space.js";
import { validateForPush } from "../push/validate.js";
import { abortOnSignals } from "../terminal/interrupt.js";
import { repeatable } from "../terminal/option-values.js";
import { exit, print, printError, printNote, printProgress } from "../terminal/output.js";

const EXAMPLES = `
Validates the environment, prepares a Docker Space with its web interface, and uploads it in one commit. The variables of
openenv.yaml are set too. The token is HF_TOKEN, else that of \`hf auth login\`, else asked for. Files that .gitignore
names, and files with secrets (.env, keys), are not uploaded.

Exit codes: 0 done, 1 failed or not fit to be published, 2 wrong usage.

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
    .option("-r, --repo-id <name>", "the Space: owner/name, or name (default: the environment's, owned by the login)")
    .option("-b, --base-image <image>", "image that the last stage of the Dockerfile starts from")
    .option("--private", "make a new Space private")
    .option("--namespace <owner>", "user or organisation that owns the Space")
    .option("--hardware <flavor>", "hardware to ask for, such as cpu-upgrade or t4-small")
    .option(
      "--secret <key>",
      "secret of the Space: KEY for the value of that variable, or KEY=VALUE; can be repeated",
      repeatable,
      [],
    )
    .option(
      "--env <key=value>",
      "public variable of the Space, over those of openenv.yaml; can be repeated",
      repeatable,
      [],
    )
    .option("--create-pr", "open a pull request instead of committing")
    .option("--dry-run", "say what would be published, and ask the Hub for nothing")
    .option("--json", "print the result as JSON")
    .addHelpText("after", EXAMPLES)
    .action(push);
}

async function push(flags: PushFlags): Promise<void> {
  const { directory, baseImage: base, json = false, createPr = false } = flags;
  const dir = resolve(directory);
  if (!statSync(dir, { throwIfNoEntry: false })?.isDirectory()) {
    throw new ConfigError(`${directory} is no folder; give the folder of an environment with -d.`);
  }
  const manifest = await readManifest(dir);
  const secrets = parseSettings("--secret", fillIn("--secret", flags.secret, process.env));
  const given = parseSettings("--env", flags.env);
  const variables = { ...manifest.variables, ...given };
  rejectPullSettings(flags);
  const { owner, name } = chooseSpace({ repoId: flags.repoId, namespace: flags.namespace, name: manifest.name });
  const signal = abortOnSignals();

  await using staged = await stageSpace({ dir, manifest, base, signal });
  if (staged.secret.length > 0) {
    printNote(`Not published, as they hold secrets: ${staged.secret.join(", ")}. Give their values with --secret.`);
  }
  const settings = { variables, secrets: Object.keys(secrets) };
  // Asked for before the validation takes its time.
  const token = flags.dryRun ? undefined : await findToken({ canAsk: !json });
  const user = token === undefined ? "<login>" : await readLogin({ token, signal });
  const id = `${owner ?? user}/${name}`;
  const onValidate = (line: string): void => printProgress(`validating: ${line}`);
  const { passed, problems } = await validateForPush(dir, { signal, onProgress: onValidate });
  if (!passed) {
    printError(
      `${name} is not fit to be published; see openenv validate.\n${problems.map((line) => `  ${line}`).join("\n")}`,
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
  if (flags.private && !createPr && !made)
    printNote(`${id} is there already; --private makes only a new Space private.`);
  if (!createPr) {
    // Before the files, so that the first start has them.
    for (const [key, value] of Object.entries(variables)) await space.setVariable(key, value);
    for (const [key, value] of Object.entries(secrets)) await space.setSecret(key, value);
    if (flags.hardware !== undefined) await space.requestHardware(flags.hardware);
  } else if (Object.keys(variables).length > 0) {
    printNote("The variables of openenv.yaml are not part of a pull request; set them on the Space when it is merged.");
  }
  const onProgress = (line: string): void => printProgress(`${id}: ${line}`);
  const pull = await space.upload(staged, { asPullRequest: createPr, onProgress });

  const urls = urlsOf(id);
  const result = { repo_id: id, ...urls, ...(pull !== undefined && { pull_request: pull }), ...settings };
  print(json ? JSON.stringify({ ...result, ...describe(staged) }) : renderResult(id, urls, pull));
  return end(staged);
}

/** A pull request has files only: what would change the Space itself is not left out silently. */
function rejectPullSettings({ createPr, private: isPrivate, hardware, secret, env }: PushFlags): void {
  if (!createPr || !(isPrivate || hardware !== undefined || secret.length > 0 || env.length > 0)) return;
  throw new ConfigError(
    "--private, --hardware, --secret and --env change the Space itself, which a pull request cannot; leave them out with --create-pr.",
  );
}

/** The process ends before a disposal would run. */
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
Published the Space ${id}; it answers when the Hub has built it.

  page    ${urls.page}
  web     ${urls.web}
  docs    ${urls.docs}
  health  ${urls.health}`.trimStart();
}
