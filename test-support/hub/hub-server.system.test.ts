/** The Hub of the tests, used by the official libraries. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { requirePython } from "../requirement.js";
import { startHub } from "./hub-server.js";

const run = promisify(execFile);
const python = await requirePython();

describe.skipIf(!python.available)("the Python library", { timeout: 120_000 }, () => {
  test("creates a Space with secrets, variables and hardware, and uploads to it", async () => {
    await using hub = await startHub();
    const script = `
from huggingface_hub import HfApi
api = HfApi()
print(api.whoami()["name"])
api.create_repo("author/py", repo_type="space", space_sdk="docker")
api.create_repo("author/py", repo_type="space", space_sdk="docker", exist_ok=True)
api.add_space_secret("author/py", "KEY", "s3cret")
api.add_space_variable("author/py", "SIZE", "2")
api.request_space_hardware("author/py", "cpu-upgrade")
api.upload_file(path_or_fileobj=b"hello", path_in_repo="a.txt", repo_id="author/py", repo_type="space")
print(sorted(api.list_repo_files("author/py", repo_type="space")))
print(api.space_info("author/py").runtime.stage)
`;
    const env = { ...process.env, HF_ENDPOINT: hub.url, HF_TOKEN: hub.token, HF_HUB_DISABLE_XET: "1" };
    const { stdout } = await run(python.path, ["-c", script], { env });
    expect(stdout.trim().split("\n")).toEqual(["author", "['.gitattributes', 'README.md', 'a.txt']", "NO_APP_FILE"]);
    const space = hub.space("author/py");
    expect(space).toMatchObject({ secrets: { KEY: "s3cret" }, variables: { SIZE: "2" }, hardware: "cpu-upgrade" });
  });
});
