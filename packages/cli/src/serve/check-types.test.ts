import { expect, test } from "vitest";
import {
  callCommand,
  counterModule,
  createProject,
  startCommand,
} from "../../../../test-support/commands/command-line.js";

const TSCONFIG = JSON.stringify({
  compilerOptions: { target: "es2023", module: "nodenext", strict: true, types: [], skipLibCheck: true },
  include: ["*.ts"],
});
const LIMIT = { timeout: 60_000 };

test("serve --check starts with right types, and names what is wrong", LIMIT, async () => {
  await using project = await createProject({ "environment.ts": counterModule(), "tsconfig.json": TSCONFIG });
  {
    await using running = startCommand(["serve", "--check", "--port", "0"], { cwd: project.dir });
    await running.printed(/at http:/);
  }
  await project.write("environment.ts", counterModule("amount.length"));
  const refused = await callCommand(["serve", "--check", "--port", "0"], { cwd: project.dir });
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toMatch(/^error: The types of .+ are wrong:\nenvironment\.ts\(\d+,\d+\): error TS2339: /);
});
