/**
 * The packed tarballs in the hands of an outside consumer: every subpath type-checks under both module resolutions and
 * loads in Node, programs that use it can be published with declarations, the commands start, the page is there, and nothing is in them that nobody can use.
 */
import { execFile } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { published } from "../release-check.mjs";
import { ROOT } from "../root.mjs";

const USELESS = /\.test(-d)?\.|\.tsbuildinfo$|\.map$|test-support|(^|\/)\./;
/** A template includes tests and dotfiles, but no build outputs. */
const USELESS_IN_TEMPLATE = /\/(node_modules|dist|build|\.openenv|__pycache__)\/|\.tsbuildinfo$/;
/** The package of the page, and where it lies in it. */
const PAGE = { name: "@openenv-ts/web", folder: "dist" };
const RESOLUTIONS = { nodenext: "nodenext", bundler: "preserve" };
const TSC = "node_modules/typescript/bin/tsc";
/** Programs that export what each entry returns. Each is compiled alone: its declarations can name only what it imports. */
const PROGRAMS = join(import.meta.dirname, "consumer");
const DECLARE =
  "--module nodenext --target es2023 --strict --skipLibCheck --declaration --emitDeclarationOnly --outDir out";

const consumer = realpathSync(mkdtempSync(join(tmpdir(), "openenv-consumer-")));
const problems = [];
try {
  const manifests = await Promise.all(published(ROOT).map(install));
  for (const manifest of manifests) linkDependencies(manifest, manifests);
  for (const name of ["typescript", "@types/node"]) link(name);
  checkPage(join(consumer, "node_modules", PAGE.name, PAGE.folder));
  const names = manifests.flatMap(({ name, exports }) =>
    Object.keys(exports)
      .filter((subpath) => typeof exports[subpath] === "object")
      .map((subpath) => join(name, subpath)),
  );
  const bins = manifests.flatMap(({ name, bin = {} }) =>
    Object.values(bin).map((file) => join("node_modules", name, file)),
  );
  writeConsumer(names);
  cpSync(PROGRAMS, join(consumer, "programs"), { recursive: true });
  await Promise.all([
    ...Object.keys(RESOLUTIONS).map((name) => attempt([TSC, "-p", `tsconfig.${name}.json`])),
    ...readdirSync(PROGRAMS).map((file) => attempt([TSC, ...DECLARE.split(" "), join("programs", file)])),
    ...names.map((name) => attempt(["--input-type=module", "-e", `await import(${JSON.stringify(name)})`])),
    ...bins.map((bin) => attempt([bin, "--help"])),
  ]);
} finally {
  rmSync(consumer, { recursive: true, force: true });
}
process.stdout.write(problems.map((problem) => `${problem.trim()}\n`).join(""));
process.exitCode = problems.length > 0 ? 1 : 0;

/** Unpacks the tarball of a workspace; the result is its package.json. */
async function install(folder) {
  const pack = ["pack", "--json", "--silent", "--pack-destination", consumer];
  const { stdout } = await promisify(execFile)("npm", pack, { cwd: join(ROOT, folder) });
  const [{ name, filename, files }] = JSON.parse(stdout);
  for (const { path } of files) {
    const useless = path.startsWith("templates/") ? USELESS_IN_TEMPLATE : USELESS;
    if (useless.test(path)) problems.push(`the tarball of ${name} contains ${path}`);
  }
  for (const file of ["README.md", "LICENSE"]) {
    if (!files.some(({ path }) => path === file)) problems.push(`the tarball of ${name} lacks ${file}`);
  }
  const home = join(consumer, "node_modules", name);
  mkdirSync(home, { recursive: true });
  await promisify(execFile)("tar", ["-xzf", join(consumer, filename), "-C", home, "--strip-components=1"]);
  return JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
}

/** Links what a package declares to depend on; what it does not declare will not be found. */
function linkDependencies({ dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} }, manifests) {
  const peers = Object.keys(peerDependencies).filter((peer) => peerDependenciesMeta[peer]?.optional !== true);
  const ours = manifests.map(({ name }) => name);
  for (const name of [...Object.keys(dependencies), ...peers]) if (!ours.includes(name)) link(name);
}

/** Checks that the tarball contains what the page loads at start. */
function checkPage(folder) {
  const index = join(folder, "index.html");
  const page = existsSync(index) ? readFileSync(index, "utf8") : "";
  const scripts = [...page.matchAll(/<script [^>]*src="([^"]+)"/g)].map(([, path]) => path);
  const others = [...page.matchAll(/<link [^>]*href="([^"]+)"/g)].map(([, path]) => path);
  if (scripts.length === 0) problems.push(`${PAGE.name} lacks index.html with the script of the page`);
  for (const path of [...scripts, ...others]) {
    if (!existsSync(join(folder, path))) problems.push(`${PAGE.name} lacks ${path}`);
  }
}

function link(dependency) {
  const target = join(consumer, "node_modules", dependency);
  if (existsSync(target)) return;
  mkdirSync(dirname(target), { recursive: true });
  symlinkSync(join(ROOT, "node_modules", dependency), target);
}

function writeConsumer(names) {
  const imports = names.map((name, index) => `import * as part${index} from "${name}";\n`).join("");
  const uses = `export const names = [${names.map((_, index) => `Object.keys(part${index})`).join(", ")}];\n`;
  writeFileSync(join(consumer, "package.json"), '{ "type": "module" }\n');
  writeFileSync(join(consumer, "consumer.ts"), `${imports}${uses}`);
  for (const [moduleResolution, module] of Object.entries(RESOLUTIONS)) {
    const compilerOptions = { strict: true, noEmit: true, target: "es2022", types: ["node"], moduleResolution, module };
    const config = { compilerOptions, files: ["consumer.ts"] };
    writeFileSync(join(consumer, `tsconfig.${moduleResolution}.json`), JSON.stringify(config));
  }
}

async function attempt(args) {
  try {
    await promisify(execFile)(process.execPath, args, { cwd: consumer, timeout: 120_000 });
  } catch (error) {
    problems.push(`${args.join(" ")}\n${error.stdout}${error.stderr}`);
  }
}
