/** The same commands on the same files in real bash, in the sandbox of `envs/coding`: output, exit code and files agree. */
import { expect, test } from "vitest";
import { requireBubblewrap } from "../../test-support/requirement.js";
import { openSession, prepareCoding } from "../coding/test-support/sessions.js";
import { kinds } from "./cases.js";
import type { Entry, Files } from "./files.js";
import { run } from "./shell.js";
import { caseOf, listCommands } from "./validation/oracle.js";

const bubblewrap = await requireBubblewrap();

/** Where the files are in both worlds: the root of the sandbox is read-only. */
const ROOT = ["", "tmp", "host"].join("/");
const FOLDERS = /(?<![\w.])\/(etc|var|srv|run|usr\/share)(?=[\s/;])/g;
const move = (text: string) => text.replaceAll(FOLDERS, `${ROOT}/$1`);
const moveAll = (from: Files): Files =>
  Object.fromEntries(Object.entries(from).flatMap(([path, one]) => (move(path) === path ? [] : [[move(path), one]])));

/** What agents read with, and some ways to write. */
const COMMANDS = `
grep -hE 'ERROR|FATAL' /var/log/*.log | sort | uniq -c | sort -rn | awk '{ print $1, $NF }'
grep -rn --include='*.conf' 'port' /etc | sort | head -n 5
grep -c WARN /var/log/*.log; grep -lx 'log_level = info' /etc/*/*.conf; grep -q nothing /etc/ports || echo none
sed -n -e '2,4p' -e 's/^\\(.*\\)-db \\([0-9]*\\)$/\\2 \\1/p' /etc/ports
awk -F ' = ' '/^port|^memory/ { sum[$1] += $2 } END { for (k in sum) print k, sum[k] }' /etc/*/*.conf | sort
cat /etc/ports | cut -d ' ' -f 2 | sort -n | tail -n 2 | tr '\\n' ','
find /etc /srv -name '*.conf' -o -name current | sort; find /var -type f -size +10k | sort
while read -r name port; do [[ $port -gt 8500 ]] && echo "\${name%%-*}:\${port:1}"; done < /etc/ports
for f in /etc/*/*.conf; do printf '%-12s|%5d\\n' "$(basename "$f" .conf)" $(wc -l < $f); done
x="a  b"; echo $x "$x" '$x' \\$x {1..3} $((7 / 2)) \${x/ /_} \${#x}; set -- 1 2; echo $# "$@"
ls /nowhere; echo $?; cat /nowhere 2> /dev/null; echo $?; false | true; echo $? \${PIPESTATUS[0]}
cp -r /etc/ssl copy && diff /etc/ports /etc/ports && echo same; rm -r copy/*-a*; find copy -type f | wc -l
(cd /var/log && ls | head -n 2; echo out; echo err >&2) > /var/both 2>&1; cat /var/both
cat > here <<EOF
a $HOME $(echo b)
EOF
tee -a here < /etc/ports | wc -l; tac here | head -n 1; nl /etc/ports | tail -n 1
mkdir -p d/e; mv here d/e/; ln -s e d/l; cat d/l/here | wc -c
case $(head -c 3 /etc/ports) in [a-p]*) echo low ;; *) echo other ;; esac; test -d /etc && echo yes
f() { local n=$1; ((n > 1)) && echo "$n $(f $((n - 1)))" || echo 1; }; f 4; echo "é" | wc -c
chmod 640 /etc/ports; stat -c '%a %s' /etc/ports; readlink /srv/*/current
xargs -n 2 echo < /etc/ports | head -n 2; seq 3 | rev; comm -12 <(sort /etc/ports) <(sort /etc/ports) | wc -l
`;

const PROGRAM = `
import base64, json, os, stat, subprocess
job = json.loads(base64.b64decode("JOB"))
root, answers = job["root"], []
for path, entry in job["files"].items():
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if entry["kind"] == "link":
        os.symlink(entry["data"], path)
    elif entry["kind"] == "file":
        open(path, "wb").write(entry["data"].encode("latin1"))
        os.chmod(path, entry["mode"] & 0o777)
rest = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C.UTF-8", "HOME": "/"}
awk = 'umask 022; awk() { "$(command -v gawk || command -v mawk)" "$@"; }\\n'
for command in job["commands"]:
    done = subprocess.run(["bash", "-c", awk + command], cwd=root, env=rest, capture_output=True, stdin=subprocess.DEVNULL)
    answers.append([done.stdout.decode("latin1"), done.returncode])
files = {}
for folder, _, names in os.walk(root):
    for path in [os.path.join(folder, name) for name in names + _]:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            files[path] = ["link", os.readlink(path)]
        elif stat.S_ISREG(mode):
            os.chmod(path, mode | 0o400)
            files[path] = [oct(mode & 0o777), open(path, "rb").read().decode("latin1")]
print(json.dumps([answers, files]))
`;

test.skipIf(!bubblewrap.available).each(kinds)(
  "real bash does the same on a host with the fault %s",
  { timeout: 120_000 },
  async (kind) => {
    const made = caseOf({ split: "train", index: kinds.indexOf(kind) });
    const repairs = listCommands(made).slice(0, -1);
    const commands = [...COMMANDS.trim().split(/\n(?!a \$HOME|EOF)/), ...repairs].map(move);
    const { environment } = await prepareCoding({ MAX_OUTPUT_LENGTH: "1000000" });
    await using session = await openSession(environment);
    const job = { root: ROOT, files: moveAll(made.world.files), commands };
    const text = Buffer.from(JSON.stringify(job)).toString("base64");
    const { stdout, stderr } = await session.run(PROGRAM.replace("JOB", text));
    expect(stderr).toBe("");
    const [answers, files] = JSON.parse(stdout);
    const world = { ...made.world, services: [], files: moveAll(made.world.files) };
    for (const [nth, command] of commands.entries()) {
      const mine = await run(world, `cd ${ROOT}\n${command}`);
      const bytes = Buffer.from(mine.stdout).toString("latin1");
      expect.soft([command, bytes, mine.exit_code]).toEqual([command, ...answers[nth]]);
    }
    const mine = Object.entries(world.files).filter(
      ([path, { kind }]) => path.startsWith(`${ROOT}/`) && kind !== "folder",
    );
    const show = ({ kind, mode, data }: Entry) => [kind === "link" ? kind : `0o${(mode & 0o777).toString(8)}`, data];
    expect(Object.fromEntries(mine.map(([path, entry]) => [path, show(entry)]))).toEqual(files);
  },
);
