import { hasPassword, isSecretName } from "@openenv-ts/deploy";
import { loadSettings } from "openenv-ts/internal";

const SERVER_SETTINGS = (await loadSettings()).listSettings();
const SETTABLE = new Set(SERVER_SETTINGS.filter(({ inManifest }) => inManifest).map(({ variable }) => variable));
/** Settings that expose the server, raise a protective limit, read a file of the machine or silence the log. */
const OPERATOR_SETTINGS = new Set(
  SERVER_SETTINGS.filter(({ inManifest }) => !inManifest).flatMap(({ variable }) => [variable, `${variable}_FILE`]),
);

/** Variables that change which code a process loads, which programs and hosts it trusts, or where it finds its files. */
const SYSTEM_VARIABLES = new RegExp(
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

const ELSEWHERE = "pass it to the process, or to a Space with openenv push --secret.";

/**
 * Why a manifest may not set this variable, and what to do instead; undefined when it may. A manifest may come from a
 * stranger, so it can only set the size and behavior of a server and the variables that the environment itself defines.
 */
export function objectToVariable(name: string, value = ""): string | undefined {
  if (hasPassword(value)) return `is a URL with a password, which a manifest must not contain; ${ELSEWHERE}`;
  if (SETTABLE.has(name)) return undefined;
  if (name === "PORT") return 'cannot be set in a manifest; set the field "port" instead.';
  if (isSecretName(name)) {
    return `looks like a secret, which a manifest must not contain; ${ELSEWHERE}`;
  }
  if (OPERATOR_SETTINGS.has(name.toUpperCase()) || SYSTEM_VARIABLES.test(name)) {
    return "cannot be set in a manifest; the operator can set it for the process, or for a Space with openenv push --env.";
  }
  return undefined;
}
