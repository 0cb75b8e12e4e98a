import { isSecretName } from "openenv-ts/internal";

/** The settings of the server that concern size and behavior; all others belong to the operator. */
export const SETTABLE_SETTINGS: ReadonlySet<string> = new Set(
  [
    "ENABLE_WEB_INTERFACE ISOLATE_MEMORY_MB ISOLATION MAX_CONCURRENT_ENVS OPENENV_MODE ISOLATE_POOL_SIZE QUEUE_SIZE QUEUE_TIMEOUT",
    "SESSION_TIMEOUT SHUTDOWN_DRAIN SHUTDOWN_GRACE ISOLATE_SPARES STEP_TIMEOUT WORKERS",
  ]
    .join(" ")
    .split(" "),
);

/** Settings that open the server, raise a protective limit, read a file of the machine or silence the log. */
const OF_THE_OPERATOR = new Set(
  [
    "ALLOWED_HOSTS ALLOWED_ORIGINS ENV_README_PATH HOST LOG_LEVEL MAX_MESSAGE_BYTES MAX_MESSAGE_ITEMS PING_INTERVAL PORT",
    "WORKER_TIMEOUT",
  ]
    .join(" ")
    .split(" "),
);

/** Variables that change which code a process loads, which programs and hosts it trusts, or where it finds its files. */
const OF_THE_SYSTEM = new RegExp(
  [
    "^(?:AWS|BUN|COREPACK|DENO|DOCKER|DYLD|ESBUILD|GIT|GLIBC|HF|KUBERNETES|LD|MALLOC|NODE|NPM|OPENENV|OPENSSL)_",
    "^(?:PIP|SLURM|SPACE|SSH|SSL|UV|XDG|YARN)_",
    "^(?:PERL5|PYTHON)",
    "^(?:BASH_ENV|COMSPEC|EDITOR|ENV|GCONV_PATH|HOME|IFS|KUBECONFIG|PATH|PATHEXT|PS4|RUBYLIB|RUBYOPT|SHELL)$",
    "^(?:APPDATA|LOCALAPPDATA|SSLKEYLOGFILE|SYSTEMROOT|TEMP|TMP|TMPDIR|USERPROFILE|\\w*JAVA_(?:TOOL_)?OPTIONS)$",
    "(?:^|_)PROXY$",
  ].join("|"),
  "i",
);

/**
 * Why a manifest may not set this variable, and what to do instead; undefined where it may. A manifest can come from a
 * stranger, so it sets the size and the behavior of a server and the variables that the environment itself defines.
 */
export function objectToVariable(name: string): string | undefined {
  if (SETTABLE_SETTINGS.has(name)) return undefined;
  if (name === "PORT") return 'is not a variable of a manifest; set the field "port".';
  if (isSecretName(name)) {
    return "looks like a secret, which a manifest must not contain; remove it and pass it to the process, or for a Space with openenv push --secret.";
  }
  if (OF_THE_OPERATOR.has(name.toUpperCase()) || OF_THE_SYSTEM.test(name)) {
    return "is not a variable that a manifest may set; remove it. The operator can set it for the process, or for a Space with openenv push --env.";
  }
  return undefined;
}
