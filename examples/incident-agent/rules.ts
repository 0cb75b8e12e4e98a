type Run = (command: string) => Promise<string>;
/** A command that repairs, or the service to look at next. */
type Advice = { command?: string; next?: string };

/** What to do about the last problem in the log of a service. */
export async function suggestFix(name: string, problem: string, run: Run): Promise<Advice> {
  const conf = `/etc/${name}/${name}.conf`;
  const set = (key: string, value: string) => `sed -i 's|^${key} = .*|${key} = ${value}|'`;
  const restart = `svc restart ${name}`;
  const portOf = (service: string) => run(`awk '$1 == "${service}" { print $2 }' /etc/ports`);
  const [, role, address] = /upstream (\w+) at (\S+):/.exec(problem) ?? [];
  if (role !== undefined) {
    const next = name.replace(/\w+$/, role);
    const right = `127.0.0.1:${await portOf(next)}`;
    if (address === right) return { next };
    // A job may copy a template over the config: the template needs the repair, too.
    const files = await run(`ls ${conf} /usr/share/config/${name}.conf`);
    return { command: `${set(`upstream.${role}`, right)} ${files.split("\n").join(" ")} && ${restart}` };
  }
  if (/on port/.test(problem)) return { command: `${set("port", await portOf(name))} ${conf} && ${restart}` };
  if (/no space left/.test(problem)) {
    const [log = ""] = (await run("ls -S /var/log")).split("\n");
    const owner = log.replace(".debug.log", "");
    const quiet = `${set("log_level", "info")} /etc/${owner}/${owner}.conf && svc restart ${owner}`;
    return { command: `rm /var/log/${log} && ${quiet}` };
  }
  if (/out of memory/.test(problem)) {
    const peak = await run(`metrics ${name} | awk '$1 == "${name}" { print $2 }'`);
    return { command: `${set("memory_mb", String(Number(peak) + 32))} ${conf} && ${restart}` };
  }
  const [, secret] = /(\S+secret.key): (?:permission|mode)/.exec(problem) ?? [];
  if (secret) return { command: `chmod 600 ${secret} && ${restart}` };
  const [, pid, lock] = /process (\d+), holds (\S+)/.exec(problem) ?? [];
  if (lock && !(await run("ps")).includes(`${pid} `)) return { command: `rm ${lock} && ${restart}` };
  const [, folder] = /(\S+)\/\w+\.pem: expired/.exec(problem) ?? [];
  if (folder) {
    const own = `grep -lx 'subject = ${name}' ${folder}/*.pem`;
    const latest = `grep expires $(${own}) | sort -k 3 | tail -n 1 | cut -d : -f 1`;
    return { command: `${set("tls_cert", await run(latest))} ${conf} && ${restart}` };
  }
  const [, releases, version] = /(\S+\/releases)\/v(\d+): needs/.exec(problem) ?? [];
  if (releases) return { command: `ln -sfn releases/v${Number(version) - 1} ${releases}/../current && ${restart}` };
  return {};
}
