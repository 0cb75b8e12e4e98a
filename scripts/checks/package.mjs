/**
 * The packed tarball in the hands of an outside consumer: every subpath type-checks under both module resolutions and
 * loads in Node, the command line starts, the page is there, and nothing is in it that nobody can use.
 */
import { execFile } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../root.mjs";

const USELESS = /\.test(-d)?\.|\.tsbuildinfo$|\.map$|test-support|(^|\/)\./;
/** A template has tests and dotfiles of its own, but nothing that working on it leaves behind. */
const USELESS_IN_TEMPLATE = /\/(node_modules|dist|build|\.openenv|__pycache__)\/|\.tsbuildinfo$/;
/** The web interface, which npm run build makes after the library. */
const PAGE = "dist/web-assets";
const RESOLUTIONS = { nodenext: "nodenext", bundler: "preserve" };

const consumer = realpathSync(mkdtempSync(join(tmpdir(), "openenv-consumer-")));
const problems = [];
try {
  const manifest = await install();
  const subpaths = Object.entries(manifest.exports).filter(([, target]) => typeof target === "object");
  const names = subpaths.map(([subpath]) => join(manifest.name, subpath));
  writeConsumer(names);
  await Promise.all([
    ...Object.keys(RESOLUTIONS).map((name) =>
      attempt(["node_modules/typescript/bin/tsc", "-p", `tsconfig.${name}.json`]),
    ),
    ...names.map((name) => attempt(["--input-type=module", "-e", `await import(${JSON.stringify(name)})`])),
    ...Object.values(manifest.bin).map((bin) => attempt([join("node_modules", manifest.name, bin), "--help"])),
  ]);
} finally {
  rmSync(consumer, { recursive: true, force: true });
}
process.stdout.write(problems.map((problem) => `${problem.trim()}\n`).join(""));
process.exitCode = problems.length > 0 ? 1 : 0;

/** Unpacks the tarball and links what it declares to depend on; what it does not declare will not be found. */
async function install() {
  const pack = ["pack", "--json", "--silent", "--pack-destination", consumer];
  const { stdout } = await promisify(execFile)("npm", pack, { cwd: join(ROOT, "openenv") });
  const [{ name, filename, files }] = JSON.parse(stdout);
  for (const { path } of files) {
    const useless = path.startsWith("templates/") ? USELESS_IN_TEMPLATE : USELESS;
    if (useless.test(path)) problems.push(`the tarball contains ${path}`);
  }
  for (const file of ["README.md", "LICENSE"]) {
    if (!files.some(({ path }) => path === file)) problems.push(`the tarball lacks ${file}`);
  }
  const home = join(consumer, "node_modules", name);
  mkdirSync(home, { recursive: true });
  await promisify(execFile)("tar", ["-xzf", join(consumer, filename), "-C", home, "--strip-components=1"]);
  checkPage(join(home, PAGE));
  const manifest = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
  const { dependencies, peerDependencies, peerDependenciesMeta } = manifest;
  const peers = Object.keys(peerDependencies).filter((peer) => peerDependenciesMeta[peer]?.optional !== true);
  for (const dependency of [...Object.keys(dependencies), ...peers, "typescript", "@types/node"]) link(dependency);
  return manifest;
}

/** What the page loads at its start came with it. */
function checkPage(folder) {
  const index = join(folder, "index.html");
  const page = existsSync(index) ? readFileSync(index, "utf8") : "";
  const scripts = [...page.matchAll(/<script [^>]*src="([^"]+)"/g)].map(([, path]) => path);
  const others = [...page.matchAll(/<link [^>]*href="([^"]+)"/g)].map(([, path]) => path);
  if (scripts.length === 0) problems.push(`the tarball lacks ${PAGE}/index.html with the script of the page`);
  for (const path of [...scripts, ...others]) {
    if (!existsSync(join(folder, path))) problems.push(`the tarball lacks ${join(PAGE, path)}`);
  }
}

function link(dependency) {
  const target = join(consumer, "node_modules", dependency);
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
